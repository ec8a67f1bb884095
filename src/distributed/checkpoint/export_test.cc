// Exports, read as any program reads them and as a table, against the table that they were made of.

#include "distributed/checkpoint/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "base/safetensors.h"
#include "base/testing/error.h"
#include "distributed/checkpoint/testing/checkpoint.h"

namespace trireme::distributed::checkpoint {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

// Every id that was ever used, and some that were not.
std::vector<Id> all_ids() {
  std::vector<Id> ids;
  for (Id id = 0; id < 2100; ++id) ids.insert(ids.end(), {id, id << 40});
  ids.push_back(~Id{0});
  return ids;
}

class Exports : public testing::Test {
 protected:
  void make(TableOptions options, int count) {
    options_ = options;
    whole_ = std::make_unique<SparseTable>(options);
    servers_ = std::make_unique<Servers>(options, count);
    training_ = std::make_unique<Training>(*whole_, 11);
    add_exporters(500);
  }
  void add_exporters(std::uint64_t rows_per_part) {
    const std::size_t servers = servers_->all().size();
    exporters_.clear();
    for (std::size_t i = 0; i < servers; ++i) {
      exporters_.push_back(std::make_unique<Exporter>(
          ExporterOptions{.server = "s" + std::to_string(i), .rows_per_part = rows_per_part}));
    }
  }
  Export write(std::int64_t number, bool delta) {
    Export all{.number = number, .delta = delta, .note = "step 7", .parts = {}};
    for (std::size_t i = 0; i < exporters_.size(); ++i) {
      Server& server = servers_->all()[i];
      for (const ExportPart& part :
           exporters_[i]->write(folder(), *server.table, server.slots, number, delta)) {
        all.parts.push_back(part);
      }
    }
    return all;
  }
  void publish_next(bool delta) { publish(folder(), options_, write(++number_, delta)); }
  const std::string& folder() const { return directory_.path(); }
  std::vector<ExportPart> last_parts() const { return read_index(folder()).exports.back().parts; }
  void expect_same(ExportedTable& exported) {
    const std::vector<Id> ids = all_ids();
    std::vector<float> rows(ids.size() * static_cast<std::size_t>(options_.width));
    exported.lookup(ids, rows.data());
    EXPECT_EQ(rows, look_up(*whole_, ids));
    // A row that is looked up is used, and stays longer: on the servers as in the whole table.
    servers_->for_ids(ids, rows, [](SparseTable& table, const std::vector<Id>& own, const auto&) {
      look_up(table, own);
    });
    EXPECT_EQ(ids_of(all_blocks(exported.table())), ids_of(all_blocks(*whole_)));
  }

  const MemoryDirectory directory_;
  TableOptions options_;
  std::unique_ptr<SparseTable> whole_;
  std::unique_ptr<Servers> servers_;
  std::unique_ptr<Training> training_;
  std::vector<std::unique_ptr<Exporter>> exporters_;
  std::int64_t number_ = 0;
};

TEST_F(Exports, AreFollowedByATable) {
  for (const bool float16 : {false, true}) {
    TableOptions options = words();
    options.float16 = float16;
    make(options, 3);
    training_->run(*servers_, 30);
    publish_next(false);
    ExportedTable exported(folder());
    EXPECT_EQ(exported.number(), number_);
    expect_same(exported);
    EXPECT_FALSE(exported.refresh());
    for (const bool delta : {true, true, false, true}) {
      training_->run(*servers_, 15);
      publish_next(delta);
      EXPECT_TRUE(exported.refresh());
      expect_same(exported);
    }
    // One that missed two, one that comes new, and one that missed a base.
    training_->run(*servers_, 15);
    publish_next(true);
    training_->run(*servers_, 15);
    publish_next(true);
    ExportedTable fresh(folder());
    for (ExportedTable* one : {&exported, &fresh}) {
      one->refresh();
      EXPECT_EQ(one->number(), number_);
      expect_same(*one);
    }
    publish_next(true);
    publish_next(false);
    EXPECT_TRUE(fresh.refresh());
    expect_same(fresh);
    fs::remove(folder() + "/export.json");
    number_ = 0;
  }
}

// What another program finds there, with its own reader of safetensors and JSON.
TEST_F(Exports, AreReadWithoutUs) {
  make(words(), 1);
  training_->run(*servers_, 20);
  publish_next(false);
  training_->run(*servers_, 5);
  publish_next(true);
  const ExportIndex index = read_index(folder());
  EXPECT_EQ(parse_index(index_text(index), "index").exports, index.exports);
  ASSERT_EQ(index.exports.size(), 2u);
  EXPECT_GT(index.exports[0].parts.size(), 1u);
  std::map<std::int64_t, std::vector<float>> rows;
  std::size_t removed = 0;
  for (const Export& one : index.exports) {
    EXPECT_EQ(one.note, "step 7");
    for (const ExportPart& part : one.parts) {
      const Safetensors content = read_safetensors(folder() + "/" + part.file);
      EXPECT_EQ(content.metadata.at("table"), "words");
      const auto ids = content.tensors.at("ids").to_vector<std::int64_t>();
      EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
      EXPECT_EQ(ids.size(), part.rows);
      if (one.delta) {
        for (const auto id : content.tensors.at("removed").to_vector<std::int64_t>()) {
          removed += rows.erase(id);
        }
      }
      const Tensor& weights = content.tensors.at("weights");
      EXPECT_EQ(weights.shape(),
                (std::vector<std::int64_t>{static_cast<std::int64_t>(ids.size()), 3}));
      const auto values = weights.to_vector<float>();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        rows[ids[i]].assign(&values[i * 3], &values[i * 3] + 3);
      }
    }
  }
  EXPECT_GT(removed, 0u);
  EXPECT_EQ(rows.size(), whole_->statistics().rows);
  for (const auto& [id, row] : rows) {
    EXPECT_EQ(row, look_up(*whole_, {static_cast<Id>(id)})) << id;
  }
}

TEST_F(Exports, AreCheckedBeforeARowChanges) {
  make(words(), 2);
  training_->run(*servers_, 20);
  publish_next(false);
  ExportedTable exported(folder());
  const std::uint64_t digest = exported.table().digest();
  training_->run(*servers_, 10);
  publish_next(true);
  const ExportIndex index = read_index(folder());
  const std::string path = folder() + "/" + index.exports[1].parts.back().file;
  const std::string bytes = read_file(path);
  for (const std::string& bad : {flipped(bytes, bytes.size() - 1), flipped(bytes, 3),
                                 bytes.substr(0, bytes.size() / 2), std::string()}) {
    overwrite(path, bad);
    EXPECT_THROW(exported.refresh(), Damaged);
    EXPECT_EQ(exported.table().digest(), digest);
  }
  fs::remove(path);
  EXPECT_THROW(exported.refresh(), Damaged);
  overwrite(path, bytes);
  EXPECT_TRUE(exported.refresh());
  expect_same(exported);
}

// An export that failed or was not published does not count: the next delta contains all changes
// since the previous export.
TEST_F(Exports, ThatFailedLoseNothing) {
  make(words(), 2);
  training_->run(*servers_, 20);
  publish_next(false);
  ExportedTable exported(folder());
  training_->run(*servers_, 10);
  write(number_ + 1, true);
  training_->run(*servers_, 10);
  Server& server = servers_->all()[0];
  EXPECT_EQ(error_of(ErrorKind::io,
                     [&] {
                       exporters_[0]->write(folder() + "/none", *server.table, server.slots,
                                            number_ + 1, true);
                     })
                .substr(0, 12),
            "cannot write");
  training_->run(*servers_, 10);
  publish_next(true);
  for (const ExportPart& part : last_parts()) EXPECT_FALSE(part.whole);
  exported.refresh();
  expect_same(exported);
  // A new server knows no changes, so it writes its slots completely.
  add_exporters(1 << 18);
  training_->run(*servers_, 10);
  publish_next(true);
  for (const ExportPart& part : last_parts()) EXPECT_TRUE(part.whole);
  exported.refresh();
  expect_same(exported);
}

TEST_F(Exports, ArePublishedWholeAndInOrder) {
  make(words(), 2);
  training_->run(*servers_, 5);
  EXPECT_EQ(error_of(ErrorKind::not_found, [&] { ExportedTable table(folder()); }).substr(0, 11),
            "cannot open");
  Export first = write(1, false);
  const auto refused = [&](const Export& what) {
    return error_of(ErrorKind::usage, [&] { publish(folder(), options_, what); });
  };
  Export bad = first;
  bad.parts.pop_back();
  EXPECT_THAT(refused(bad), HasSubstr("is missing"));
  bad = first;
  bad.parts.push_back(bad.parts[0]);
  EXPECT_THAT(refused(bad), HasSubstr("is there twice"));
  bad = first;
  bad.delta = true;
  EXPECT_THAT(refused(bad), HasSubstr("out of place"));
  bad = first;
  bad.number = 2;
  EXPECT_THAT(refused(bad), HasSubstr("export 2 of table 'words' follows 0"));
  publish(folder(), options_, first);
  TableOptions other = options_;
  other.name = "other";
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { publish(folder(), other, {.number = 2, .parts = {}}); }),
      HasSubstr("exports of another table, 'words'"));
}

TEST_F(Exports, ADeltaFollowsWhatItCanStandOn) {
  make(words(), 1);
  training_->run(*servers_, 5);
  const auto next = [&](const TableOptions& options, std::int64_t deltas = 2) {
    const NextExport next = next_export(folder(), options, deltas);
    return std::pair(next.number, next.delta);
  };
  EXPECT_EQ(next(options_), std::pair(std::int64_t{1}, false));
  publish_next(false);
  EXPECT_EQ(next(options_), std::pair(std::int64_t{2}, true));
  EXPECT_EQ(next(options_, 0), std::pair(std::int64_t{2}, false));
  publish_next(true);
  publish_next(true);
  EXPECT_EQ(next(options_), std::pair(std::int64_t{4}, false)) << "there are two already";
  EXPECT_EQ(next(options_, 3), std::pair(std::int64_t{4}, true));
  TableOptions other = options_;
  other.name = "other";
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { next(other, 3); }),
              HasSubstr("exports of another table, 'words'"));
  for (int change = 0; change < 4; ++change) {
    other = options_;
    if (change == 0) other.width = 4;
    if (change == 1) other.float16 = true;
    if (change == 2) other.seed = 8;
    if (change == 3) other.initializer = RowInitializer::normal(0, 3);
    EXPECT_EQ(next(other, 3), std::pair(std::int64_t{4}, false)) << change;
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { publish(folder(), other, {4, true, "", {}}); }),
                HasSubstr("a delta cannot follow them"));
  }
}

// A reader of the earlier exports continues with the base.
TEST_F(Exports, ABaseTakesThePlaceOfADamagedIndex) {
  make(words(), 2);
  training_->run(*servers_, 20);
  publish_next(false);
  publish_next(true);
  ExportedTable exported(folder());
  EXPECT_EQ(exported.note(), "step 7");
  training_->run(*servers_, 10);
  overwrite(folder() + "/export.json", "{\"format\"");
  EXPECT_THROW(exported.refresh(), Damaged);
  overwrite(folder() + "/00000003.s0.00000.safetensors.tmp.12.1", "half");
  const NextExport next = next_export(folder(), options_, 10);
  EXPECT_EQ(next.number, 4) << "behind all whose files are there";
  EXPECT_FALSE(next.delta);
  number_ = next.number - 1;
  publish_next(false);
  EXPECT_TRUE(exported.refresh());
  expect_same(exported);
  publish_next(false);
  EXPECT_FALSE(fs::exists(folder() + "/00000003.s0.00000.safetensors.tmp.12.1"));
}

// Its rows that are not there would be other ones.
TEST_F(Exports, ATableOfOtherRowsIsOpenedAnew) {
  make(words(), 1);
  publish_next(false);
  ExportedTable exported(folder());
  options_.seed += 1;
  publish_next(false);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { exported.refresh(); }), HasSubstr("open it again"));
  EXPECT_EQ(ExportedTable(folder()).number(), 2);
}

TEST_F(Exports, FilesGoWhenTheBaseIsTwoBack) {
  make(words(), 1);
  training_->run(*servers_, 5);
  for (const bool delta : {false, true, false}) publish_next(delta);
  const auto numbers = [&] {
    std::set<std::string> numbers;
    for (const auto& entry : fs::directory_iterator(folder())) {
      const std::string name = entry.path().filename();
      if (name != "export.json") numbers.insert(name.substr(0, 8));
    }
    return numbers;
  };
  EXPECT_THAT(numbers(), testing::ElementsAre("00000001", "00000002", "00000003"));
  publish_next(false);
  EXPECT_THAT(numbers(), testing::ElementsAre("00000003", "00000004"));
}

TEST_F(Exports, RowsAreNeverAwayWhileTheyAreRefreshed) {
  TableOptions options = words();
  options.initializer = RowInitializer::zeros();
  make(options, 1);
  const std::vector<Id> ids = {1, 2, 3, 4, 5};
  servers_->all()[0].table->assign(ids, std::vector<float>(15, 1).data());
  publish_next(false);
  ExportedTable exported(folder());
  std::atomic<bool> done{false};
  std::thread reader([&] {
    std::vector<float> rows(15);
    while (!done) {
      exported.lookup(ids, rows.data());
      for (std::size_t i = 0; i < rows.size(); i += 3) {
        EXPECT_GE(rows[i], 1);
        EXPECT_EQ(rows[i], rows[i + 2]);
      }
    }
  });
  for (float value = 2; value < 12; ++value) {
    servers_->all()[0].table->assign(ids, std::vector<float>(15, value).data());
    publish_next(static_cast<int>(value) % 4 != 0);
    exported.refresh();
  }
  done = true;
  reader.join();
}

}  // namespace
}  // namespace trireme::distributed::checkpoint
