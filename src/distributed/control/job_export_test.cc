// Exports of jobs while servers and masters fail and servers join and leave. A reader checks that
// each export is consistent and has all training until then.

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "base/safetensors.h"
#include "distributed/checkpoint/export.h"
#include "distributed/checkpoint/testing/checkpoint.h"
#include "distributed/control/testing/job_control.h"
#include "trireme/exported_table.h"

namespace trireme::distributed {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class JobExports : public ::testing::Test {
 protected:
  JobExports() {
    how_.folder = folder_.path() + "/checkpoints";
    how_.every = 0.05;
    how_.exports = {.folder = folder_.path() + "/exports", .every = 0.05, .deltas = 3};
    how_.records = 2000;
    how_.epochs = 3;
    how_.slow = Milliseconds(200);
  }
  std::string table_folder() const { return how_.exports.folder + "/counts"; }
  std::string dense_file() const { return how_.exports.folder + "/dense.safetensors"; }

  // The number of trainings of each record in the exports.
  std::vector<float> rows(const ExportedTable& table) const {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(how_.records));
    std::iota(ids.begin(), ids.end(), 0);
    const std::vector<float> all = table.lookup(ids).to_vector<float>();
    std::vector<float> counts;
    for (std::size_t i = 0; i < ids.size(); ++i) counts.push_back(all[2 * i]);
    return counts;
  }
  // The newest export: complete rows of completed tasks, and the dense sum of exactly these.
  void poll(ExportedTable& table) {
    table.refresh();
    const Safetensors dense = read_safetensors(dense_file());
    // A known one, or one whose other half does not exist yet or any more.
    if (table.number() == checked_ || dense.metadata.at("note") != table.note()) return;
    checked_ = table.number();
    const std::vector<float> counts = rows(table);
    double all = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      all += counts[i];
      EXPECT_EQ(counts[i], counts[i - i % CountTrainer::kTask]) << "half a task";
    }
    // Trainers may have declared the table but not the sum.
    const auto sum = dense.tensors.find("sum_0");
    EXPECT_EQ(sum == dense.tensors.end() ? 0 : sum->second.data<float>()[0],
              static_cast<float>(all))
        << table.note();
    ++polls_;
  }
  // Follows until the job has reported this, or is over.
  void follow(CountJob& job, const std::string& until) {
    for (int i = 0; i < 6000 && !job.has_said(until) && !job.over(); ++i) {
      std::this_thread::sleep_for(Milliseconds(5));
      if (!table_ && std::filesystem::exists(dense_file())) table_.emplace(table_folder());
      if (table_) poll(*table_);
    }
    EXPECT_TRUE(job.has_said(until)) << until;
  }
  // Follows to the end: the last export is complete, for a reader that followed and for a new one.
  void finish(CountJob& job) {
    job.slow_down(false);
    job.join();
    const CountTrainer::Counts counts = job.counts();
    EXPECT_THAT(counts.rows, Each(static_cast<float>(how_.epochs)));
    ASSERT_TRUE(table_.has_value());
    table_->refresh();
    EXPECT_EQ(rows(*table_), counts.rows);
    const ExportedTable fresh(table_folder());
    EXPECT_EQ(rows(fresh), counts.rows);
    EXPECT_EQ(fresh.rows(), how_.records);
    EXPECT_EQ(fresh.number(), table_->number());
    EXPECT_EQ(read_safetensors(dense_file()).tensors.at("sum_0").data<float>()[0], counts.all[0]);
    EXPECT_THAT(job.said().back(), HasSubstr("export ")) << "the last checkpoint is exported";
    EXPECT_GT(polls_, 0);
  }

  checkpoint::MemoryDirectory folder_;
  CountJobOptions how_;
  std::optional<ExportedTable> table_;
  std::int64_t checked_ = 0;  // number of an export
  int polls_ = 0;
};

TEST_F(JobExports, FollowTraining) {
  CountJob job(how_);
  job.slow_down(true);
  follow(job, "export 1, a base: 1 table, ");
  follow(job, "export 4: 1 table, ");
  follow(job, "export 5, a base: ");
  follow(job, "export 6: ");
  finish(job);
  EXPECT_GE(job.exports(), 7);
  EXPECT_EQ(job.exports(), table_->number());
  EXPECT_EQ(job.failed_exports(), 0);
}

// A record changes once in an epoch, so all deltas together have it once for each epoch.
TEST_F(JobExports, OfWhatChanged) {
  how_.exports.deltas = 1000;
  CountJob job(how_);
  job.slow_down(true);
  follow(job, "export 4: ");
  finish(job);
  const checkpoint::ExportIndex index = checkpoint::read_index(table_folder());
  ASSERT_GE(index.exports.size(), 4u);
  std::uint64_t rows = 0;
  for (const checkpoint::Export& one : index.exports) {
    EXPECT_EQ(one.delta, one.number > 1);
    for (const checkpoint::ExportPart& part : one.parts) {
      EXPECT_EQ(part.whole, !one.delta) << one.number;
      rows += part.rows;
    }
  }
  EXPECT_LE(rows, static_cast<std::uint64_t>(how_.records * how_.epochs));
}

TEST_F(JobExports, AfterServersHaveDied) {
  CountJob job(how_);
  job.slow_down(true);
  follow(job, "export 3: ");
  job.kill_server(0);
  follow(job, "2 servers went back to epoch");
  const std::int64_t before = table_->number();
  follow(job, "export " + std::to_string(before + 3));
  job.kill_server(1);
  finish(job);
}

// The next leader continues the numbering.
TEST_F(JobExports, AfterMastersHaveDied) {
  how_.exports.deltas = 1000;
  CountJob job(how_);
  job.slow_down(true);
  follow(job, "export 2: ");
  job.replace_master();
  follow(job, "export 5: ");
  finish(job);
  EXPECT_FALSE(checkpoint::read_index(table_folder()).exports.back().parts.at(0).whole);
}

TEST_F(JobExports, OnAnotherNumberOfServers) {
  how_.exports.deltas = 1000;
  how_.move_bytes = 64 << 10;
  CountJob job(how_);
  job.slow_down(true);
  follow(job, "export 2: ");
  job.add_server(3);
  job.want_servers(3);
  follow(job, "3 servers: ");
  job.want_servers(2);
  follow(job, "2 servers: ");
  finish(job);
}

TEST_F(JobExports, ThatCannotBeWrittenCostNothing) {
  std::ofstream(how_.exports.folder) << "a file, no folder";
  how_.records = 2000;
  how_.epochs = 2;
  CountJob job(how_);
  job.join();
  EXPECT_THAT(job.counts().rows, Each(2.0f));
  EXPECT_THAT(job.line("no export: "), HasSubstr(how_.exports.folder));
  EXPECT_GT(job.saves(), 0);
  EXPECT_EQ(job.exports(), 0);
  EXPECT_GT(job.failed_exports(), 0);
}

// A folder that servers cannot write to, because the disk is full or a file is in the way, is
// reported with the message of the server.
TEST_F(JobExports, GoOnWhenThereIsRoomAgain) {
  std::filesystem::create_directories(table_folder());
  const std::string in_the_way = table_folder() + "/00000001.server_0.00000.safetensors";
  std::filesystem::create_directories(in_the_way + "/x");
  CountJob job(how_);
  job.slow_down(true);
  for (int i = 0; i < 4000 && job.failed_exports() < 2; ++i) {
    std::this_thread::sleep_for(Milliseconds(5));
  }
  EXPECT_THAT(job.line("no export: server 0 at "), HasSubstr(in_the_way));
  EXPECT_FALSE(std::filesystem::exists(dense_file()));
  std::filesystem::remove_all(in_the_way);
  follow(job, "export 1, a base: ");
  finish(job);
}

// Readers of the earlier export find the next number.
TEST_F(JobExports, AnIndexThatIsDamagedIsReplacedByABase) {
  how_.exports.deltas = 1000;
  CountJob job(how_);
  job.slow_down(true);
  follow(job, "export 2: ");
  const auto bases = [&] {
    const std::vector<std::string> said = job.said();
    return std::count_if(said.begin(), said.end(), [](const std::string& line) {
      return line.find(", a base: ") != std::string::npos;
    });
  };
  // Again, if that was during a publication.
  while (bases() < 2 && !job.over()) {
    checkpoint::overwrite(table_folder() + "/export.json", "{");
    const std::size_t said = job.said().size();
    while (job.said().size() < said + 4 && !job.over()) {
      std::this_thread::sleep_for(Milliseconds(5));
    }
  }
  EXPECT_GE(bases(), 2);
  finish(job);
  EXPECT_GT(table_->number(), 2);
}

TEST_F(JobExports, HaveTheLastCheckpointOfAJobThatIsStopped) {
  how_.every = 3600;
  how_.exports.every = 3600;
  CountJob job(how_);
  job.slow_down(true);
  job.wait_for_tasks(20);
  job.want_last_checkpoint();
  const LastCheckpoint last = job.last_checkpoint();
  job.slow_down(false);
  job.stop_trainers();
  ASSERT_EQ(last.checkpoint, 1) << last.why;
  const ExportedTable table(table_folder());
  EXPECT_EQ(table.note(), "checkpoint 1");
  const std::vector<float> counts = rows(table);
  const float learned = std::accumulate(counts.begin(), counts.end(), 0.0f);
  EXPECT_EQ(learned, static_cast<float>(last.done * CountTrainer::kTask));
  EXPECT_EQ(read_safetensors(dense_file()).tensors.at("sum_0").data<float>()[0], learned);
}

// Exports of another job with other tables.
TEST_F(JobExports, TakeThePlaceOfThoseOfAnotherModel) {
  checkpoint::ExportIndex old{"counts", 5, true, RowInitializer::zeros(), 0, {}};
  old.exports.push_back({7, false, "checkpoint 3", {{"7.old.0.safetensors", {}, true, 0, 0, {}}}});
  std::filesystem::create_directories(table_folder());
  checkpoint::overwrite(table_folder() + "/export.json", checkpoint::index_text(old));
  how_.records = 400;
  how_.every = how_.exports.every = 3600;
  CountJob job(how_);
  job.join();
  EXPECT_TRUE(job.has_said("export 8, a base: 1 table, 400 rows, "));
  const ExportedTable table(table_folder());
  EXPECT_EQ(table.width(), 2);
  EXPECT_THAT(rows(table), Each(3.0f));
}

}  // namespace
}  // namespace trireme::distributed
