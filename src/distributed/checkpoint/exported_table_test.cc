// The public way to look rows up in exports, against the table that they were made of.

#include "trireme/exported_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/testing/error.h"
#include "distributed/checkpoint/export.h"
#include "distributed/checkpoint/testing/checkpoint.h"

namespace trireme {
namespace {

using distributed::Id;
using distributed::SparseTable;
using distributed::TableOptions;
using ::testing::ElementsAre;

class Exported : public ::testing::Test {
 protected:
  void make(bool float16) {
    TableOptions options = distributed::checkpoint::words();
    options.float16 = float16;
    training_.emplace(options);
    exporter_.emplace(distributed::checkpoint::ExporterOptions{.server = "s"});
  }
  void give(const std::vector<Id>& ids, float first) {
    std::vector<float> values;
    for (std::size_t i = 0; i < 3 * ids.size(); ++i)
      values.push_back(first + 0.1f * static_cast<float>(i));
    training_->assign(ids, values.data());
  }
  void publish(bool delta) {
    ++number_;
    const std::vector<distributed::checkpoint::ExportPart> parts =
        exporter_->write(folder_.path(), *training_, {distributed::SlotRange{}}, number_, delta);
    distributed::checkpoint::publish(
        folder_.path(), training_->options(),
        {number_, delta, "checkpoint " + std::to_string(10 * number_), parts});
  }
  std::vector<float> trained(const std::vector<Id>& ids) {
    std::vector<float> rows(3 * ids.size());
    training_->lookup(ids, rows.data(), distributed::Create::no);
    return rows;
  }

  const distributed::checkpoint::MemoryDirectory folder_;
  std::optional<SparseTable> training_;
  std::optional<distributed::checkpoint::Exporter> exporter_;
  std::int64_t number_ = 0;
};

TEST_F(Exported, HasTheRowsOfTraining) {
  for (const bool float16 : {false, true}) {
    make(float16);
    give({1, 5, 1u << 30}, 1);
    publish(false);
    ExportedTable table(folder_.path());
    EXPECT_EQ(table.name(), "words");
    EXPECT_EQ(table.width(), 3);
    EXPECT_EQ(table.rows(), 3);
    EXPECT_EQ(table.note(), "checkpoint " + std::to_string(10 * number_));
    const Tensor rows = table.lookup({5, 7, 1 << 30});
    EXPECT_EQ(rows.type_str(), "f32[3, 3]");
    EXPECT_EQ(rows.to_vector<float>(), trained({5, 7, 1u << 30})) << "7 is as it would begin";
    const std::vector<std::int64_t> asked = {7, 1, -1, 5};
    EXPECT_THAT(table.contains(asked), ElementsAre(false, true, false, true));

    give({7}, 4);
    training_->remove(std::vector<Id>{5});
    EXPECT_FALSE(table.refresh());
    publish(true);
    EXPECT_TRUE(table.refresh());
    EXPECT_EQ(table.number(), number_);
    EXPECT_THAT(table.contains(asked), ElementsAre(true, true, false, false));
    EXPECT_EQ(table.lookup({5, 7}).to_vector<float>(), trained({5, 7}));
    std::filesystem::remove(folder_.path() + "/export.json");
    number_ = 0;
  }
}

TEST_F(Exported, HasZerosForWhatIsNoId) {
  make(false);
  give({0, 3}, 1);
  publish(false);
  const ExportedTable table(folder_.path());
  const std::vector<std::int64_t> ids = {-1, 3, -5, 3, 0};
  const std::vector<float> some = trained({3, 3, 0});
  std::vector<float> expected(15);
  std::copy_n(some.begin(), 3, expected.begin() + 3);
  std::copy_n(some.begin() + 3, 6, expected.begin() + 9);
  EXPECT_EQ(table.lookup(ids).to_vector<float>(), expected);
  EXPECT_EQ(table.lookup({}).type_str(), "f32[0, 3]");
}

TEST_F(Exported, IsLookedUpWhileItIsRefreshed) {
  make(false);
  const std::vector<Id> ids = {1, 2, 3};
  give(ids, 1);
  publish(false);
  ExportedTable table(folder_.path());
  std::atomic<bool> done{false};
  std::thread reader([&] {
    std::int64_t last = 0;
    while (!done) {
      const std::int64_t number = table.number();
      EXPECT_GE(number, last);
      EXPECT_THAT(table.note(), ::testing::StartsWith("checkpoint "));
      EXPECT_GE(table.lookup({1}).data<float>()[0], static_cast<float>(number));
      last = number;
    }
  });
  for (int i = 2; i < 12; ++i) {
    give(ids, static_cast<float>(i));
    publish(i % 4 != 0);
    table.refresh();
  }
  done = true;
  reader.join();
  EXPECT_EQ(table.number(), 11);
}

TEST_F(Exported, FailsWithReasons) {
  EXPECT_NE(error_of(ErrorKind::not_found, [&] { ExportedTable table(folder_.path()); }),
            "no error");
  make(false);
  give({1, 2}, 1);
  publish(false);
  ExportedTable table(folder_.path());
  give({1}, 5);
  publish(true);
  const auto index = distributed::checkpoint::read_index(folder_.path());
  std::filesystem::remove(folder_.path() + "/" + index.exports.back().parts.at(0).file);
  EXPECT_NE(error_of(ErrorKind::data, [&] { table.refresh(); }), "no error");
  EXPECT_EQ(table.number(), 1);
  EXPECT_EQ(table.lookup({1}).data<float>()[0], 1) << "nothing has changed";
  EXPECT_NE(error_of(ErrorKind::data, [&] { ExportedTable anew(folder_.path()); }), "no error");
}

}  // namespace
}  // namespace trireme
