// Jobs whose servers and masters fail, and whose number of servers changes, lose and repeat no
// training.

#include "distributed/control/testing/job_control.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <fstream>

#include "base/testing/error.h"
#include "distributed/checkpoint/testing/checkpoint.h"

namespace trireme::distributed {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

class JobControlOf : public ::testing::Test {
 protected:
  CountJobOptions options() { return {.folder = folder_.path() + "/checkpoints"}; }
  void expect_exact(CountJob& job, const CountJobOptions& options) {
    const CountTrainer::Counts counts = job.counts();
    EXPECT_THAT(counts.rows, Each(static_cast<float>(options.epochs)));
    EXPECT_THAT(counts.all, Each(static_cast<float>(options.records * options.epochs)));
  }
  // Trainers complete `tasks` tasks while the store is unavailable, for a leader that fails before
  // it returns.
  void lose_leader_and_store(CountJob& job, std::int64_t tasks) {
    job.slow_down(true);
    job.wait_for_tasks(30);
    job.take_store_away();
    job.wait_for_tasks(job.finished() + tasks);
    job.replace_master();
    job.bring_store_back();
    EXPECT_TRUE(job.says("were trained for a leader that failed while the store was unavailable"));
  }
  checkpoint::MemoryDirectory folder_;
};

TEST_F(JobControlOf, CountsEachRecordOnceInEachEpoch) {
  CountJob job(options());
  job.join();
  expect_exact(job, options());
  EXPECT_GT(job.saves(), 0);
}

TEST_F(JobControlOf, WithoutCheckpointsJobsEnd) {
  CountJobOptions how;
  how.records = 400;
  CountJob job(how);
  job.join();
  expect_exact(job, how);
}

TEST_F(JobControlOf, ServersThatDieCostNothingButTime) {
  CountJobOptions how = options();
  how.epochs = 3;
  CountJob job(how);
  job.wait_for_tasks(5);
  job.kill_server(0);  // most likely before the first checkpoint
  job.wait_for_tasks(60);
  job.kill_server(1);
  job.wait_for_tasks(120);
  job.kill_server(0);
  job.join();
  EXPECT_TRUE(job.has_said("2 servers went back to epoch"));
  expect_exact(job, how);
}

// Its tasks are repeated before there is a checkpoint: servers after a rollback no longer know
// their pushes.
TEST_F(JobControlOf, ATrainerThatDiesBetweenLearningAndSayingSo) {
  CountJobOptions how = options();
  how.dies_after = 20;
  CountJob job(how);
  job.wait_for_tasks(20);
  const std::size_t before = job.said().size();
  for (int i = 0; i < 1000 && job.said().size() == before; ++i) {
    std::this_thread::sleep_for(Milliseconds(5));
  }
  EXPECT_THAT(job.said().back(), HasSubstr("checkpoint"));
  job.kill_server(0);
  job.join();
  EXPECT_TRUE(job.has_said("2 servers went back to epoch"));
  expect_exact(job, how);
}

TEST_F(JobControlOf, MastersThatDieToo) {
  CountJobOptions how = options();
  how.epochs = 3;
  CountJob job(how);
  job.wait_for_tasks(10);
  job.replace_master();
  job.wait_for_tasks(60);
  job.kill_server(1);
  job.replace_master();
  job.join();
  expect_exact(job, how);
}

// For more than an epoch, and longer than the lease of the leader.
TEST_F(JobControlOf, AnOutageOfTheStoreStopsNobody) {
  CountJobOptions how = options();
  how.epochs = 8;
  CountJob job(how);
  job.wait_for_tasks(20);
  const auto start = std::chrono::steady_clock::now();
  job.take_store_away();
  const std::int64_t before = job.finished();
  job.wait_for_tasks(before + 150);
  std::this_thread::sleep_until(start + Milliseconds(2500));
  EXPECT_GE(job.finished(), before + 150);
  EXPECT_FALSE(job.over());
  job.bring_store_back();
  job.join();
  EXPECT_FALSE(job.has_said("went back")) << "nothing was the matter with the servers";
  expect_exact(job, how);
}

// The next leader does not know the tasks that the previous one handed out; servers do. They return
// to a checkpoint that matches both.
TEST_F(JobControlOf, ALeaderThatDiesWhileTheStoreIsAway) {
  CountJobOptions how = options();
  how.epochs = 6;
  CountJob job(how);
  lose_leader_and_store(job, 60);
  job.kill_server(0);
  EXPECT_TRUE(job.says("2 servers went back to epoch"));
  job.slow_down(false);
  job.join();
  expect_exact(job, how);
}

// And checkpoints are made again after the same tasks have been handed out again.
TEST_F(JobControlOf, CheckpointsComeBackAfterALeaderThatDiedWhileTheStoreWasAway) {
  CountJobOptions how = options();
  how.epochs = 8;
  CountJob job(how);
  lose_leader_and_store(job, 30);
  for (const std::ptrdiff_t had = job.saves(); job.saves() == had && !job.over();) {
    std::this_thread::sleep_for(Milliseconds(5));
  }
  EXPECT_FALSE(job.over());
  job.kill_server(1);
  EXPECT_TRUE(job.says("2 servers went back to epoch"));
  job.slow_down(false);
  job.join();
  expect_exact(job, how);
}

// TRIREME_ROWS: rows of an additional table, so that measured pauses are realistic. TRIREME_TASKS:
// tasks whose pushes to it servers remember.
TEST_F(JobControlOf, FourServersToThreeAndBack) {
  const char* const asked = std::getenv("TRIREME_ROWS");
  const std::int64_t rows = asked != nullptr ? std::atoll(asked) : 20000;
  CountJobOptions how = options();
  how.servers = 4;
  how.records = asked != nullptr ? 8000 : 3000;
  how.epochs = asked != nullptr ? 40 : 4;
  how.every = asked != nullptr ? 1000 : 0.5;
  how.move_bytes = asked != nullptr ? JobControlOptions().move_bytes : 1 << 20;
  if (asked != nullptr) {
    how.folder.clear();  // pushes of more tasks than there are would be in no checkpoint
  }
  CountJob job(how);
  job.slow_down(asked == nullptr);
  job.wait_for_tasks(10);
  job.add_rows(rows);
  const char* const tasks = std::getenv("TRIREME_TASKS");
  job.add_pushes(rows, tasks != nullptr ? std::atoll(tasks) : 3);
  const std::uint64_t digest = job.digest_of_rows();
  job.want_servers(3);
  const auto until = [&](const std::string& text) {
    EXPECT_TRUE(job.says(text));
    std::printf("%s\n", job.line(text).c_str());
    EXPECT_EQ(job.digest_of_rows(), digest);
  };
  until("3 servers: 4096 slots moved");
  EXPECT_TRUE(job.store().get(drained_key(kJob, 3)).has_value());
  job.want_servers(4);
  until("4 servers: 4096 slots moved");
  job.slow_down(false);
  if (asked == nullptr) job.kill_server(2);
  job.join();
  expect_exact(job, how);
}

// Rows without lookups are removed, and no others, whatever happens to servers and masters
// meanwhile.
TEST_F(JobControlOf, RowsThatNobodyUsesGo) {
  CountJobOptions how = options();
  how.slow = Milliseconds(10);
  how.epochs = 6;
  how.ageing = Ageing{.eviction = {.unused_for = 3}};
  CountJob job(how);
  job.slow_down(true);
  job.wait_for_tasks(10);
  job.add_rows(500);
  const auto rows = [&] {
    std::uint64_t sum = 0;
    for (std::size_t server = 0; server < 2; ++server) {
      for (const TableReport& table : job.tables_of(server)) {
        if (table.name == "rows") sum += table.statistics.rows;
      }
    }
    return sum;
  };
  EXPECT_EQ(rows(), 500u);
  job.wait_for_tasks(110);  // in the third epoch of 50 tasks
  EXPECT_TRUE(job.has_said("tick 1: 0 rows"));
  job.kill_server(1);
  job.replace_master();
  job.slow_down(false);
  job.join();
  EXPECT_TRUE(job.has_said("servers went back to epoch"));
  EXPECT_TRUE(job.has_said("tick 5: "));
  EXPECT_EQ(rows(), 0u);
  EXPECT_EQ(job.digest_of_rows(), 0u);
  expect_exact(job, how);
}

// Rows are not older on servers that joined later, nor in a job that continues, even if rows did
// not age before.
TEST_F(JobControlOf, RowsAreAsOldOnNewServers) {
  CountJobOptions how = options();
  how.records = 4000;
  how.slow = Milliseconds(10);
  how.epochs = 4;
  how.ageing = Ageing{.tick_tasks = 20, .eviction = {.unused_for = 11}};  // an epoch is 5 ticks
  {
    CountJob job(how);
    job.slow_down(true);
    job.wait_for_tasks(10);
    job.want_servers(3);
    job.add_server(3);
    job.wait_for_tasks(150);
    EXPECT_TRUE(job.says("3 servers: "));
    job.want_last_checkpoint();
    EXPECT_GT(job.last_checkpoint().checkpoint, 0);
    job.stop_trainers();
  }
  how.resume = true;
  how.servers = 2;
  CountJob job(how);
  job.join();
  EXPECT_TRUE(job.has_said("tick 20: 0 rows")) << "of 400 tasks";
  expect_exact(job, how);
}

TEST_F(JobControlOf, RowsBeginToGrowOldWhereAJobGoesOn) {
  CountJobOptions how = options();
  how.slow = Milliseconds(10);
  how.epochs = 4;
  {
    CountJob job(how);
    job.slow_down(true);
    job.wait_for_tasks(130);
    job.want_last_checkpoint();
    EXPECT_GT(job.last_checkpoint().checkpoint, 0);
    job.stop_trainers();
  }
  how.resume = true;
  how.ageing = Ageing{.eviction = {.unused_for = 2}};
  CountJob job(how);
  job.join();
  EXPECT_TRUE(job.has_said("tick 1: 0 rows"));
  EXPECT_FALSE(job.has_said("tick 2: "));
  expect_exact(job, how);
}

// Dense parameters move too when there are more servers: checkpoints have each block once, and its
// earlier server has none.
TEST_F(JobControlOf, CheckpointsGoOnWithMoreServers) {
  CountJobOptions how = options();
  how.epochs = 4;
  {
    CountJob job(how);
    job.slow_down(true);
    job.wait_for_tasks(10);
    job.want_servers(3);
    job.add_server(3);
    EXPECT_TRUE(job.says("3 servers: "));
    job.want_last_checkpoint();
    const LastCheckpoint last = job.last_checkpoint();
    EXPECT_GT(last.checkpoint, 0) << last.why;
    EXPECT_EQ(job.blocks(), CountTrainer::kSums);
    job.stop_trainers();
  }
  how.resume = true;
  how.servers = 3;
  CountJob job(how);
  job.wait_for_tasks(20);
  job.kill_server(2);
  job.join();
  expect_exact(job, how);
}

// A leader that fails when all servers know of a move, but no other process: the next one finishes
// it.
TEST_F(JobControlOf, AMoveThatAllServersKnow) {
  CountJobOptions how = options();
  how.servers = 3;
  CountJob job(how);
  job.slow_down(true);
  job.wait_for_tasks(10);
  job.add_rows(2000);
  const std::uint64_t digest = job.digest_of_rows();
  job.die_at_the_end_of_a_move({.first = 0, .last = 100, .from = 0, .to = 1});
  // The next leader finds the servers unbalanced by the move and moves slots back: all but one,
  // since 4,096 slots are one more than three equal shares.
  EXPECT_TRUE(job.says("3 servers: 99 slots moved"));
  EXPECT_EQ(job.digest_of_rows(), digest);
  job.slow_down(false);
  job.join();
  expect_exact(job, how);
}

// Checkpoints of an unfinished run are protected from a run without `resume`; those of a finished
// run are removed.
TEST_F(JobControlOf, BeginsAnewAfterARunThatWasFinished) {
  for (int run = 0; run < 2; ++run) {
    CountJobOptions how = options();
    how.records = 400;
    how.every = 0.02;
    CountJob job(how);
    job.join();
    expect_exact(job, how);
    std::this_thread::sleep_for(Milliseconds(200));  // another checkpoint would be due
  }
}

TEST_F(JobControlOf, GoesOnOnAnotherNumberOfServers) {
  CountJobOptions how = options();
  {
    CountJob job(how);
    job.join();
  }
  how.servers = 3;
  how.epochs = 4;
  how.resume = true;
  CountJob job(how);
  job.join();
  EXPECT_TRUE(job.has_said("3 servers went back to epoch 2 with 50 tasks done"));
  expect_exact(job, how);
}

// --- Jobs that end early

class LastCheckpointOf : public JobControlOf {
 protected:
  LastCheckpointOf() {
    how_ = options();
    how_.every = 3600;
  }
  // The report of a job that was ordered to end after `tasks` tasks. `meanwhile` runs after the
  // order.
  LastCheckpoint end(std::int64_t tasks, const std::function<void(CountJob&)>& meanwhile) {
    CountJob job(how_);
    job.slow_down(true);
    job.wait_for_tasks(tasks);
    job.want_last_checkpoint();
    meanwhile(job);
    const LastCheckpoint last = job.last_checkpoint();
    job.slow_down(false);
    job.stop_trainers();
    const std::int64_t before = (last.epoch - 1) * how_.records / CountTrainer::kTask;
    if (last.checkpoint == 1) {
      EXPECT_EQ(job.finished(), before + last.done) << "it has all that was learned";
    }
    return last;
  }
  void expect_that_nothing_is_lost(const LastCheckpoint& last) {
    how_.resume = true;
    CountJob job(how_);
    job.join();
    EXPECT_TRUE(job.has_said(
        fmt::format("2 servers went back to epoch {} with {} tasks done", last.epoch, last.done)));
    expect_exact(job, how_);
  }
  CountJobOptions how_;
};

TEST_F(LastCheckpointOf, HasAllThatWasLearned) {
  const LastCheckpoint last = end(20, [](CountJob&) {});
  EXPECT_EQ(last.checkpoint, 1) << last.why;
  EXPECT_GE(last.done, 20);
  expect_that_nothing_is_lost(last);
}

TEST_F(LastCheckpointOf, IsMadeByWhoeverLeadsNext) {
  const LastCheckpoint last = end(10, [](CountJob& job) { job.replace_master(); });
  EXPECT_GT(last.checkpoint, 0) << last.why;
  expect_that_nothing_is_lost(last);
}

TEST_F(LastCheckpointOf, IsMadeAlsoIfAServerDiesMeanwhile) {
  how_.every = 0.1;
  const LastCheckpoint last = end(20, [](CountJob& job) { job.kill_server(0); });
  EXPECT_GT(last.checkpoint, 0) << last.why;
  expect_that_nothing_is_lost(last);
}

TEST_F(LastCheckpointOf, IsNoneInAJobWithoutCheckpoints) {
  how_.folder = "";
  const LastCheckpoint last = end(10, [](CountJob&) {});
  EXPECT_EQ(last, (LastCheckpoint{.why = "the job keeps none (checkpoint_seconds = 0)"}));
}

TEST_F(LastCheckpointOf, IsNoneIfItCannotBeWritten) {
  CountJob job(how_);
  job.slow_down(true);
  job.wait_for_tasks(10);
  std::filesystem::remove_all(how_.folder);
  std::ofstream(how_.folder) << "a file, no folder";
  job.want_last_checkpoint();
  const LastCheckpoint last = job.last_checkpoint();
  job.stop_trainers();
  EXPECT_EQ(last.checkpoint, 0);
  EXPECT_THAT(last.why, AllOf(HasSubstr(how_.folder), HasSubstr("is lost")));
  EXPECT_TRUE(job.has_said("no checkpoint: "));
}

TEST(LastCheckpoint, IsReadAsWritten) {
  const LastCheckpoint last{7, "no space\nleft", 3, 12, 1234567890123};
  EXPECT_EQ(last_checkpoint_of(text_of(last)), last);
  for (const char* wrong : {"", "{}", "[1]", "{\"checkpoint\": -}"}) {
    EXPECT_NE(error_of(ErrorKind::data, [&] { last_checkpoint_of(wrong); }), "no error");
  }
}

}  // namespace
}  // namespace trireme::distributed
