// Groups without any remaining member return to a checkpoint together with the queue of tasks.
// Their members count records, so that lost and repeated training shows exactly.

#include "distributed/control/group_control.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/testing/error.h"
#include "distributed/checkpoint/testing/checkpoint.h"
#include "distributed/collectives/elastic_group.h"
#include "distributed/control/group_member.h"
#include "distributed/control/last_checkpoint.h"
#include "distributed/coordination/lease_keeper.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/master/task_client.h"
#include "distributed/server/testing/cluster.h"

namespace trireme::distributed {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

const std::string kPrefix = "job/";
constexpr std::int64_t kTasks = 60, kEpochs = 2;

// A task is one step, which adds one to its place in the counts of all members.
class Counter {
 public:
  Counter(Store& store, const std::string& name, const std::string& folder)
      : lease_(store, {.seconds = 60}),
        members_(store, kPrefix),
        member_(store, {.prefix = kPrefix, .name = name, .folder = folder}),
        tasks_(store, network_, {.prefix = kPrefix, .name = name, .security = kTestSecurity}),
        counts_(kTasks) {
    members_.join({.name = name, .role = "trainer"}, lease_);
    group_.emplace(store, ElasticOptions{.prefix = kPrefix + "group/", .name = name},
                   ElasticState{.save = [this] { return state(); },
                                .restore = [this](auto bytes) { set_state(bytes); },
                                .found = [this](std::int64_t group) { return found(group); }});
  }
  // Runs until all is done; ends without notice, like a failed process, when `dies` says so.
  void run(std::atomic<std::int64_t>& finished, const std::function<bool()>& dies) {
    for (;;) {
      if (taken_.tasks.empty()) taken_ = tasks_.take(1);
      if (!step()) continue;
      if (dies()) return;
      if (!taken_.tasks.empty()) std::this_thread::sleep_for(Milliseconds(3));
      if (!taken_.tasks.empty()) finished += tasks_.finish(taken_.tasks);
      taken_.tasks.clear();
      if (busy_ > 0) continue;
      if (taken_.all_done) return;
      member_.save_if_asked(group_->committed(), [this] { return state(); });
    }
  }
  std::vector<float> counts() const { return counts_; }

 private:
  std::int64_t found(std::int64_t generation) {
    const GroupStart start = member_.found(generation).value();
    std::fill(counts_.begin(), counts_.end(), 0.0f);
    if (start.checkpoint > 0) set_state(member_.load(start, counts_.size() * sizeof(float)));
    return start.committed;
  }
  // Whether it was a step of all, and the task of this member still counts.
  bool step() {
    const std::int64_t generation = group_->begin()->generation();
    if (std::exchange(generation_, generation) != generation) {
      if (taken_.rollbacks < member_.start().rollbacks) taken_.tasks.clear();
    }
    std::vector<float> sums;
    const bool all = group_->step([&](const std::shared_ptr<Group>& group) {
      sums.assign(kTasks + 1, 0);
      for (const Task& task : taken_.tasks)
        sums[static_cast<std::size_t>(task.id)] = sums.back() = 1;
      group->all_reduce(std::span(sums));
    });
    if (!all) return false;
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += sums[i];
    busy_ = sums.back();
    return true;
  }
  std::vector<std::byte> state() const {
    const auto bytes = std::as_bytes(std::span(counts_));
    return {bytes.begin(), bytes.end()};
  }
  void set_state(std::span<const std::byte> bytes) {
    std::memcpy(counts_.data(), bytes.data(), bytes.size());
  }

  Network network_;
  LeaseKeeper lease_;
  ProcessRegistry members_;
  GroupMember member_;
  TaskClient tasks_;
  Taken taken_;
  std::vector<float> counts_;
  float busy_ = 0;
  std::int64_t generation_ = 0;
  std::optional<ElasticGroup> group_;
};

class Groups : public ::testing::Test {
 protected:
  void start_master(bool resume = false, double every = 0.05) {
    MasterOptions options;
    options.prefix = kPrefix;
    options.server.security = kTestSecurity;
    options.epochs = kEpochs;
    options.tasks = [](std::int64_t) { return std::vector<std::string>(kTasks, "x"); };
    options.hold = true;
    options.lease = 2;
    options.min_timeout = Milliseconds(60000);
    master_ = std::make_unique<Master>(*store_, options);
    CheckpointCoordinatorOptions cuts{
        .prefix = kPrefix, .folder = folder(), .every = every, .resume = resume};
    cuts.say = [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      said_ += text + "\n";
    };
    leading_ = true;
    control_ = std::thread([this, cuts] {
      GroupControl control(*store_, *master_, cuts);
      while (leading_) {
        control.poll();
        std::this_thread::sleep_for(Milliseconds(2));
      }
    });
  }
  void stop_master() {
    if (!control_.joinable()) return;
    leading_ = false;
    control_.join();
    master_.reset();
  }
  ~Groups() override { stop_master(); }
  std::string folder() const { return folder_.path() + "/checkpoints"; }
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  // Two members run until all is done, or until `until` tasks are done and `said` was reported;
  // they slow down for that. Returns their state, which is the same for both.
  std::vector<float> run(const std::string& name, std::int64_t until,
                         const std::string& text = "") {
    std::vector<float> counts[2];
    std::atomic<std::int64_t> finished = 0;
    const auto member = [&](int i) {
      Counter counter(*store_, name + std::to_string(i), folder());
      counter.run(finished, [&] {
        const bool heard = said().find(text) != std::string::npos;
        if (!heard)
          std::this_thread::sleep_for(Milliseconds(20));  // it must come before all is done
        return finished >= until && heard;
      });
      counts[i] = counter.counts();
    };
    std::thread other(member, 1);
    member(0);
    other.join();
    return counts[0];
  }
  checkpoint::MemoryDirectory folder_;
  std::unique_ptr<Store> store_ = make_memory_store();
  std::unique_ptr<Master> master_;
  std::atomic<bool> leading_ = false;
  std::thread control_;
  std::mutex mutex_;
  std::string said_;
};

constexpr std::int64_t kNever = INT64_MAX;

TEST_F(Groups, CountEachTaskOnceInEachEpoch) {
  start_master();
  EXPECT_THAT(run("a", kNever, "checkpoint 1: "), Each(static_cast<float>(kEpochs)));
  EXPECT_THAT(said(), HasSubstr("checkpoint 1: "));
}

TEST_F(Groups, OfWhichNobodyIsLeftGoBackToACheckpoint) {
  start_master();
  run("a", 20, "checkpoint 1: ");
  run("b", 20);
  EXPECT_THAT(run("c", kNever), Each(static_cast<float>(kEpochs)));
  EXPECT_THAT(said(), HasSubstr("the trainers went back to epoch 1 with "));
}

TEST_F(Groups, DamagedCheckpointsArePassedOver) {
  start_master();
  run("a", 20, "checkpoint 2: ");
  stop_master();
  checkpoint::Catalog catalog(*store_, {.folder = folder(), .prefix = kPrefix + "checkpoint/"});
  const std::vector<checkpoint::Committed> list = catalog.list();
  ASSERT_GE(list.size(), 2u);
  const std::string file =
      catalog.folder(list[0].id) + "/" + catalog.manifest(list[0]).parts[0].file;
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-20, std::ios::end);
  stream.put('\x55').put('\x55').put('\x55');
  stream.close();
  start_master();
  EXPECT_THAT(run("b", kNever), Each(static_cast<float>(kEpochs)));
  EXPECT_THAT(said(), HasSubstr("is damaged"));
}

// A job that is started again: only the folder remains.
TEST_F(Groups, ResumeWhatIsInTheFolder) {
  start_master();
  run("a", 20, "checkpoint 1: ");
  stop_master();
  store_ = make_memory_store();
  start_master(/*resume=*/true);
  EXPECT_THAT(run("b", kNever), Each(static_cast<float>(kEpochs)));
  EXPECT_THAT(said(), HasSubstr("the trainers went back to epoch "));
}

// A job that ends early and is started again.
TEST_F(Groups, EndWithALastCheckpoint) {
  start_master(/*resume=*/false, /*every=*/3600);
  std::thread asker([this] {
    for (std::optional<TaskCounts> counts; !counts || counts->done < 20;) {
      std::this_thread::sleep_for(Milliseconds(2));
      counts = master_->counts();
    }
    store_->put(last_wanted_key(kPrefix), "1");
  });
  const std::vector<float> counts = run("a", 20, "checkpoint 1: ");
  asker.join();
  while (!store_->get(last_checkpoint_key(kPrefix))) std::this_thread::sleep_for(Milliseconds(2));
  const LastCheckpoint last = last_checkpoint_of(store_->get(last_checkpoint_key(kPrefix))->value);
  EXPECT_EQ(last.checkpoint, 1) << last.why;
  EXPECT_GT(last.steps, 0u);
  ASSERT_EQ(last.epoch, 1);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0.0), static_cast<double>(last.done))
      << "nothing was learned after it";
  stop_master();
  store_ = make_memory_store();
  start_master(/*resume=*/true);
  EXPECT_THAT(run("b", kNever), Each(static_cast<float>(kEpochs)));
  EXPECT_THAT(said(), HasSubstr("the trainers went back to epoch 1 with " +
                                std::to_string(last.done) + " tasks done"));
}

TEST_F(Groups, HaveNoLastCheckpointBeforeTheyBegin) {
  start_master();
  store_->put(last_wanted_key(kPrefix), "1");
  while (!store_->get(last_checkpoint_key(kPrefix))) std::this_thread::sleep_for(Milliseconds(2));
  EXPECT_EQ(last_checkpoint_of(store_->get(last_checkpoint_key(kPrefix))->value),
            (LastCheckpoint{.why = "nothing has been learned yet"}));
}

TEST(GroupKeys, AreReadAsWritten) {
  const GroupStart start{3, 2, 7, 1234567890123};
  EXPECT_EQ(group_start_of(text_of(start)), start);
  const GroupSaved saved = group_saved_of(text_of(GroupSaved{7, 12, {}, "no space\nleft"}));
  EXPECT_EQ(saved.checkpoint, 7);
  EXPECT_EQ(saved.committed, 12);
  EXPECT_EQ(saved.problem, "no space\nleft");
  for (const char* wrong : {"", "{}", "[1]", "{\"generation\": -}"}) {
    EXPECT_NE(error_of(ErrorKind::data, [&] { group_start_of(wrong); }), "");
    EXPECT_NE(error_of(ErrorKind::data, [&] { group_saved_of(wrong); }), "");
  }
}

}  // namespace
}  // namespace trireme::distributed
