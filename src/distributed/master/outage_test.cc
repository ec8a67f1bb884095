// Masters and trainers while the store is unavailable: to all of them, and to the leader only.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/store_session.h"
#include "distributed/coordination/testing/cut_store.h"
#include "distributed/master/master.h"
#include "distributed/master/task_client.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kToken = "open sesame";

MasterOptions options_of(std::int64_t epochs, int tasks) {
  MasterOptions options;
  options.prefix = "job/";
  options.server.security.token = kToken;
  options.epochs = epochs;
  options.tasks = [tasks](std::int64_t epoch) {
    std::vector<std::string> result;
    for (int i = 0; i < tasks; ++i) {
      result.push_back(std::to_string(epoch) + ":" + std::to_string(i));
    }
    return result;
  };
  options.lease = 2;
  options.min_timeout = Milliseconds(60000);
  return options;
}

// The store as a process sees it.
class Seen : public CutStore {
 public:
  explicit Seen(Store& store) : CutStore(store) { patience = Milliseconds(300); }
};

// A trainer in a separate thread that counts its completed tasks.
class Trainer {
 public:
  Trainer(Store& store, Network& network, const std::string& name)
      : session_(store, 2,
                 [&store, name](const LeaseKeeper& lease) {
                   ProcessRegistry(store, "job/").join({.name = name, .role = "trainer"}, lease);
                 }),
        client_(store, network, {.prefix = "job/", .name = name, .security = {.token = kToken}}) {
    client_.on_lost([this](const Task& task) {
      const std::lock_guard lock(mutex_);
      ++lost_[task.data];
    });
    thread_ = std::thread([this] { run(); });
  }
  ~Trainer() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  int learned() const { return count_; }
  std::map<std::string, int> tasks() const { return of(learned_); }
  std::map<std::string, int> lost() const { return of(lost_); }
  void pause(bool pause) { pause_ = pause; }
  // So that a job lasts as long as a test needs.
  void slow_down(bool slow) { slow_ = slow; }

 private:
  using Counts = std::map<std::string, int>;
  Counts of(const Counts& counts) const {
    const std::lock_guard lock(mutex_);
    return counts;
  }
  void run() {
    for (Taken taken; !taken.all_done;) {
      while (pause_) std::this_thread::sleep_for(Milliseconds(2));
      taken = client_.take(2);
      for (const Task& task : taken.tasks) {
        const std::lock_guard lock(mutex_);
        ++learned_[task.data];
        ++count_;
      }
      std::this_thread::sleep_for(Milliseconds(slow_ ? 50 : 5));
      if (!taken.tasks.empty()) client_.finish(taken.tasks);
    }
  }

  StoreSession session_;
  TaskClient client_;
  mutable std::mutex mutex_;
  Counts learned_, lost_;
  std::atomic<int> count_{0};
  std::atomic<bool> pause_{false}, slow_{false};
  std::thread thread_;
};

class Outages : public ::testing::Test {
 protected:
  std::map<std::string, int> all(std::initializer_list<const Trainer*> trainers) {
    std::map<std::string, int> sum;
    for (const Trainer* trainer : trainers) {
      for (const auto& [task, times] : trainer->tasks()) sum[task] += times;
    }
    return sum;
  }
  void away(std::initializer_list<Seen*> from) {
    clock_.stop();
    for (Seen* seen : from) seen->cut = true;
  }
  void back(std::initializer_list<Seen*> to) {
    clock_.resume();
    for (Seen* seen : to) seen->cut = false;
  }

  TestClock clock_;
  const std::unique_ptr<Store> store_ = make_memory_store({.now = [this] { return clock_.now(); }});
  Seen of_master_{*store_}, of_standby_{*store_}, of_a_{*store_}, of_b_{*store_};
  Network network_;
};

// Longer than all leases; meanwhile the epoch ends and the next one begins.
TEST_F(Outages, TrainingGoesOnWhileTheStoreIsAway) {
  const Master master(of_master_, options_of(3, 300));
  Trainer a(of_a_, network_, "a"), b(of_b_, network_, "b");
  ASSERT_TRUE(wait_until([&] { return a.learned() > 10 && b.learned() > 10; }));
  const std::uint64_t epoch = master.leadership()->epoch;
  const auto start = Clock::now();
  away({&of_master_, &of_a_, &of_b_});
  const int before_a = a.learned(), before_b = b.learned();
  EXPECT_TRUE(wait_until([&] { return a.learned() + b.learned() > before_a + before_b + 320; }));
  std::this_thread::sleep_until(start + Milliseconds(2500));
  EXPECT_GT(a.learned(), before_a + 20);
  EXPECT_GT(b.learned(), before_b + 20);
  EXPECT_FALSE(master.finished()) << "that is said when the store is back";
  back({&of_master_, &of_a_, &of_b_});
  a.join();
  b.join();
  EXPECT_TRUE(master.finished());
  EXPECT_EQ(master.leadership()->epoch, epoch) << "no other master has led";
  const auto learned = all({&a, &b});
  EXPECT_EQ(learned.size(), 900u);
  for (const auto& [task, times] : learned) EXPECT_EQ(times, 1) << task;
  EXPECT_TRUE(a.lost().empty() && b.lost().empty());
  EXPECT_EQ(TaskQueue(*store_, {.prefix = "job/task/"}).counts().done, 300);
}

// A store that runs but is disconnected from all: leases of the leader and of trainers expire
// there. But no other master has led.
TEST_F(Outages, ALeaderWhoseLeaseHasEndedMeanwhileLeadsAgainAndKnowsWhatItKnew) {
  const Master master(of_master_, options_of(4, 300));
  Trainer a(of_a_, network_, "a"), b(of_b_, network_, "b");
  ASSERT_TRUE(wait_until([&] { return a.learned() > 10 && b.learned() > 10; }));
  const std::uint64_t epoch = master.leadership()->epoch;
  for (Trainer* trainer : {&a, &b}) trainer->slow_down(true);
  for (Seen* seen : {&of_master_, &of_a_, &of_b_}) seen->cut = true;
  const int before = a.learned() + b.learned();
  ASSERT_TRUE(wait_until([&] { return !store_->get("job/master"); }));
  ASSERT_TRUE(wait_until([&] { return ProcessRegistry(*store_, "job/").list("trainer").empty(); }));
  EXPECT_TRUE(wait_until([&] { return a.learned() + b.learned() > before + 50; }));
  EXPECT_FALSE(master.finished());
  for (Seen* seen : {&of_master_, &of_a_, &of_b_}) seen->cut = false;
  for (Trainer* trainer : {&a, &b}) trainer->slow_down(false);
  a.join();
  b.join();
  EXPECT_GT(master.leadership()->epoch, epoch) << "it had to be elected again";
  const auto learned = all({&a, &b});
  EXPECT_EQ(learned.size(), 1200u);
  for (const auto& [task, times] : learned) EXPECT_EQ(times, 1) << task;
  EXPECT_TRUE(a.lost().empty() && b.lost().empty());
}

TEST_F(Outages, WhoStandsByLetsTheLeaderOfBeforeBeTheFirst) {
  std::optional<Master> first(std::in_place, of_master_, options_of(1, 10));
  ASSERT_TRUE(wait_until([&] { return first->leads(); }));
  const Master second(of_standby_, options_of(1, 10));
  of_standby_.cut = true;
  ASSERT_TRUE(wait_until([&] { return of_standby_.refused > 2; })) << "it notices";
  first.reset();  // no master leads
  const auto back = Clock::now();
  of_standby_.cut = false;
  EXPECT_TRUE(wait_until([&] { return second.leads(); }));
  EXPECT_GT(Clock::now() - back, Milliseconds(2900));
}

// It is disconnected and does not know that another master leads. Trainers that reach the store do
// not accept its answers.
TEST_F(Outages, ALeaderThatIsCutOffAloneHandsOutNothing) {
  const Master first(of_master_, options_of(1, 400));
  Trainer a(of_a_, network_, "a"), b(of_b_, network_, "b");
  ASSERT_TRUE(wait_until([&] { return a.learned() > 10 && b.learned() > 10; }));
  std::optional<Master> second(std::in_place, of_standby_, options_of(1, 400));
  of_master_.cut = true;
  EXPECT_TRUE(wait_until([&] { return second->leads(); }));
  ASSERT_TRUE(wait_until([&] { return a.learned() + b.learned() > 100; }));
  of_master_.cut = false;
  EXPECT_TRUE(wait_until([&] { return !first.leads(); }));
  a.join();
  b.join();
  const auto learned = all({&a, &b});
  EXPECT_EQ(learned.size(), 400u);
  for (const auto& [task, times] : learned) EXPECT_EQ(times, 1) << task;
  second.reset();
  ASSERT_TRUE(wait_until([&] { return first.leads(); }));
  EXPECT_EQ(first.counts()->done, 400) << "what it knew when it led before is void";
}

// Trainers report finished tasks to the next leader. Tasks that were begun provisionally are
// repeated, and reported as lost.
TEST_F(Outages, WhenTheLeaderDiesMeanwhileTheNextIsToldWhatWasDone) {
  std::optional<Master> first(std::in_place, of_master_, options_of(1, 400));
  std::optional<Trainer> a(std::in_place, of_a_, network_, "a");
  ASSERT_TRUE(wait_until([&] { return a->learned() > 10; }));
  away({&of_master_, &of_standby_, &of_a_});
  const int before = a->learned();
  ASSERT_TRUE(wait_until([&] { return a->learned() > before + 40; }));
  a->pause(true);
  first.reset();  // it cannot write any more
  Trainer b(of_b_, network_, "b");
  const Master second(of_standby_, options_of(1, 400));
  back({&of_standby_, &of_a_});
  a->pause(false);
  a->join();
  b.join();
  const auto learned = all({&*a, &b});
  EXPECT_EQ(learned.size(), 400u) << "none is lost";
  const auto lost = a->lost();
  EXPECT_FALSE(lost.empty());
  for (const auto& [task, times] : learned) {
    EXPECT_LE(times, 1 + (lost.contains(task) ? lost.at(task) : 0)) << task;
  }
}

}  // namespace
}  // namespace trireme::distributed
