// Masters, trainers that use them, and the tasks when either fails.

#include "distributed/master/master.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include "base/testing/error.h"
#include "base/testing/wait_until.h"
#include "distributed/coordination/lease_keeper.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/testing/cut_store.h"
#include "distributed/master/task_client.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

constexpr const char* kToken = "open sesame";

class Masters : public ::testing::Test {
 protected:
  MasterOptions options(std::int64_t epochs, int tasks) const {
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
  // A trainer that is a member as long as the object exists.
  struct Trainer {
    Trainer(Store& store, Network& network, const std::string& name)
        : lease(store, {.seconds = 2}), members(store, "job/") {
      members.join({.name = name, .role = "trainer"}, lease);
      client.emplace(store, network,
                     TaskClientOptions{.prefix = "job/",
                                       .name = name,
                                       .security = {.token = kToken},
                                       .patience = Milliseconds(60000)});
    }
    LeaseKeeper lease;
    ProcessRegistry members;
    std::optional<TaskClient> client;
  };
  // Takes and finishes tasks until none remain, and counts them.
  static void train(TaskClient& client, std::map<std::string, int>& done) {
    for (;;) {
      const Taken taken = client.take(4);
      if (taken.all_done) return;
      for (const Task& task : taken.tasks) ++done[task.data];
      if (taken.tasks.empty()) std::this_thread::sleep_for(Milliseconds(5));
      else EXPECT_EQ(client.finish(taken.tasks), static_cast<int>(taken.tasks.size()));
    }
  }

  std::unique_ptr<Store> store_ = make_memory_store();
  Network network_;
};

TEST_F(Masters, ALeaseThatIsTooShortIsRefused) {
  MasterOptions short_lease = options(1, 1);
  short_lease.lease = 1;
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { Master(*store_, short_lease); }),
              HasSubstr("a lease of 1 s is too short"));
}

TEST_F(Masters, HandOutAllEpochs) {
  const Master master(*store_, options(3, 20));
  Trainer a(*store_, network_, "a"), b(*store_, network_, "b");
  std::map<std::string, int> by_a, by_b;
  std::thread other([&] { train(*b.client, by_b); });
  train(*a.client, by_a);
  other.join();
  EXPECT_TRUE(master.finished());
  EXPECT_EQ(store_->get("job/done")->value, "1");
  std::map<std::string, int> all = by_a;
  for (const auto& [task, times] : by_b) all[task] += times;
  EXPECT_EQ(all.size(), 60u);
  for (const auto& [task, times] : all) EXPECT_EQ(times, 1) << task;
}

// Fault 20: the key "done" was written without the guard of the leader, so a deposed one could end
// the job of its successor.
TEST_F(Masters, OnlyTheLeaderEndsTheJob) {
  CutStore watched(*store_);
  std::atomic<int> guarded = 0, unguarded = 0;
  watched.loses = [&](const Transaction& transaction) {
    for (const Action& action : transaction.then) {
      const auto* put = std::get_if<Put>(&action);
      if (put != nullptr && put->key == "job/done")
        ++(transaction.when.empty() ? unguarded : guarded);
    }
    return false;
  };
  const Master master(watched, options(1, 2));
  Trainer a(*store_, network_, "a");
  std::map<std::string, int> done;
  train(*a.client, done);
  EXPECT_EQ(unguarded, 0);
  EXPECT_EQ(guarded, 1);
}

// Fault 20: every error but Unavailable was dropped, and the master tried again forever.
TEST_F(Masters, ErrorsThatNoAttemptCanFixAreReported) {
  store_->put("job/task/epoch", "nonsense");
  const Master master(*store_, options(1, 2));
  std::string error;
  EXPECT_TRUE(wait_until([&] {
    error = error_of([&] { master.check(); });
    return error != "no error";
  }));
  EXPECT_THAT(error, HasSubstr("job/task/epoch"));
  EXPECT_FALSE(master.leads());
}

TEST_F(Masters, NobodyHoldsMuchAtTheEnd) {
  const Master master(*store_, options(1, 8));
  Trainer a(*store_, network_, "a");
  std::vector<std::size_t> counts;
  std::vector<Task> held;
  for (int i = 0; i < 6; ++i) {
    const std::vector<Task> more = a.client->take(100, held).tasks;
    counts.push_back(more.size());
    held.insert(held.end(), more.begin(), more.end());
  }
  EXPECT_THAT(counts, ::testing::ElementsAre(4, 2, 1, 1, 0, 0));
}

// As after a lost answer.
TEST_F(Masters, WhatATrainerDoesNotKnowOfIsGivenAgain) {
  const Master master(*store_, options(1, 8));
  Trainer a(*store_, network_, "a");
  const std::vector<Task> first = a.client->take(2).tasks;
  ASSERT_EQ(first.size(), 2u);
  const std::vector<Task> again = a.client->take(2, {first[0]}).tasks;
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].id, first[1].id);
  EXPECT_EQ(again[0].attempt, first[1].attempt);
  EXPECT_NE(again[1].id, first[0].id);
  EXPECT_EQ(a.client->finish(first), 2);
}

TEST_F(Masters, WhatATrainerLeavesIsHandedOutAgain) {
  const Master master(*store_, options(1, 6));
  Trainer a(*store_, network_, "a");
  std::vector<Task> held;
  {
    Trainer b(*store_, network_, "b");
    held = b.client->take(2).tasks;
    ASSERT_FALSE(held.empty());
  }
  std::map<std::string, int> done;
  train(*a.client, done);
  EXPECT_EQ(done.size(), 6u);
  EXPECT_EQ(a.client->finish(held), 0) << "not a's";
}

TEST_F(Masters, WhoLeavesDoesNotWaitForAMaster) {
  std::atomic<bool> stop = false;
  TaskClient client(*store_, network_,
                    {.prefix = "job/", .name = "a", .stop = [&] { return stop.load(); }});
  std::thread leaves([&] { stop = true; });
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THAT(error_of(ErrorKind::io, [&] { client.take(1); }), HasSubstr("there is no master"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30)) << "of 60";
  leaves.join();
}

// However often: the tasks are not the cause.
TEST_F(Masters, WhoLeavesGivesAllBackAtOnce) {
  const Master master(*store_, options(1, 8));
  Trainer a(*store_, network_, "a");
  for (int i = 0; i < 5; ++i) {
    const int taken = static_cast<int>(a.client->take(3).tasks.size());
    ASSERT_GT(taken, 0);
    EXPECT_EQ(a.client->release(), taken);
    EXPECT_EQ(a.client->release(), 0);
    const TaskCounts counts = master.counts().value();
    EXPECT_EQ(counts.todo, 8);
    EXPECT_EQ(counts.pending + counts.failed, 0);
  }
  EXPECT_GE(master.counts()->attempts, 10);
  EXPECT_TRUE(master.leadership());
}

TEST_F(Masters, AStandbyGoesOn) {
  auto first = std::make_unique<Master>(*store_, options(2, 10));
  Trainer a(*store_, network_, "a");
  std::map<std::string, int> done;
  const Taken some = a.client->take(3);
  ASSERT_FALSE(some.tasks.empty());
  const Master second(*store_, options(2, 10));
  EXPECT_FALSE(second.leads());
  first.reset();
  EXPECT_EQ(a.client->finish(some.tasks), static_cast<int>(some.tasks.size())) << "by the second";
  for (const Task& task : some.tasks) ++done[task.data];
  train(*a.client, done);
  EXPECT_TRUE(second.leads());
  EXPECT_EQ(done.size(), 20u);
  for (const auto& [task, times] : done) EXPECT_EQ(times, 1) << task;
}

// As a process that was stopped or killed: it keeps its tasks until its lease expires.
class CutOff : public Store {
 public:
  explicit CutOff(Store& store) : store_(store) {}
  Outcome commit(const Transaction& t) override {
    Outcome outcome = ask().commit(t);
    ++commits;
    return outcome;
  }
  std::int64_t grant(std::int64_t seconds) override { return ask().grant(seconds); }
  bool keep_alive(std::int64_t lease) override { return ask().keep_alive(lease); }
  void revoke(std::int64_t lease) override { ask().revoke(lease); }
  std::unique_ptr<Watch> watch(const std::string& prefix, std::int64_t from) override {
    return ask().watch(prefix, from);
  }
  std::atomic<bool> away = false;
  std::atomic<int> commits = 0;

 private:
  Store& ask() {
    if (away) throw Unavailable("cut off");
    return store_;
  }
  Store& store_;
};

TEST_F(Masters, NobodyWaitsForTheLeaseOfOneThatIsKnownToBeDead) {
  MasterOptions named = options(1, 8);
  named.lease = 3600;
  named.process.name = "master_0";
  CutOff cut(*store_);
  const Master first(cut, named);
  Trainer a(*store_, network_, "a");
  ASSERT_FALSE(a.client->take(1).tasks.empty());
  named.process.name = "master_1";
  const Master second(*store_, named);
  cut.away = true;
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(ProcessRegistry(*store_, "job/").forget("master", "master_0"));
  while (!second.leads() && std::chrono::steady_clock::now() - begun < std::chrono::seconds(60)) {
    std::this_thread::sleep_for(Milliseconds(5));
  }
  EXPECT_TRUE(second.leads()) << "long before an hour is over";
}

// A leader that answers once and fails before the next request.
TEST_F(Masters, NobodyWaitsLongForALeaderThatHasDied) {
  const auto seconds = [&] {
    auto first = std::make_unique<Master>(*store_, options(1, 8));
    Trainer a(*store_, network_, "a");
    EXPECT_EQ(a.client->take(1).epoch, 1);
    first.reset();
    const Master second(*store_, options(1, 8));
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(a.client->take(1).epoch, 1);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  };
  EXPECT_LT(std::min({seconds(), seconds(), seconds()}), 1.9)
      << "on a machine that does little else";
}

// A trainer gets the address of a leader that has failed unnoticed.
TEST_F(Masters, NobodyWaitsLongForALeaderThatIsDead) {
  const auto seconds = [&] {
    store_->put("job/master", "127.0.0.1:1");  // no process listens there
    CutOff counted(*store_);
    Trainer a(counted, network_, "a");
    const int before = counted.commits;
    const auto begun = std::chrono::steady_clock::now();
    std::thread asks([&] { EXPECT_EQ(a.client->take(1).epoch, 1); });
    while (counted.commits == before) std::this_thread::sleep_for(Milliseconds(1));
    store_->erase("job/master");
    const Master master(*store_, options(1, 8));
    asks.join();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  };
  // 2 s is the limit for a master that is known to live.
  EXPECT_LT(std::min({seconds(), seconds(), seconds()}), 1.9)
      << "on a machine that does little else";
}

// A process that would need a second conclusion may have ended. But after a rollback the job is not
// over any more.
TEST_F(Masters, WhatALeaderHasConcludedTheNextOneLeavesAlone) {
  MasterOptions holds = options(1, 4);
  holds.hold = true;
  auto first = std::make_unique<Master>(*store_, holds);
  const auto wait_for = [](const std::function<bool()>& done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(Milliseconds(5));
    }
    return done();
  };
  ASSERT_TRUE(wait_for([&] { return first->leads(); }));
  first->go_on(0);
  Trainer a(*store_, network_, "a");
  std::map<std::string, int> done;
  std::thread trainer([&] { train(*a.client, done); });
  EXPECT_TRUE(wait_for([&] { return first->all_over(); }));
  first->conclude();
  trainer.join();
  Master second(*store_, holds);
  first.reset();
  EXPECT_TRUE(wait_for([&] { return second.leads(); }));
  EXPECT_TRUE(wait_for([&] { return second.finished(); }));
  EXPECT_FALSE(second.all_over());
  EXPECT_TRUE(second.restore({.epoch = 1, .done = {0}}));
  EXPECT_FALSE(store_->get("job/done"));
  EXPECT_FALSE(second.finished());
  EXPECT_EQ(second.counts()->todo, 3);
}

TEST_F(Masters, BadTasksFailAtLast) {
  MasterOptions poisoned = options(1, 2);
  poisoned.poison = 2;
  std::vector<std::string> said;
  poisoned.describe = [](const Task& task) { return task.data; };
  poisoned.say = [&](const std::string& text) { said.push_back(text); };
  const Master master(*store_, poisoned);
  Trainer a(*store_, network_, "a");
  int bad = 0;
  for (;;) {
    const Taken taken = a.client->take(1);
    if (taken.all_done) break;
    for (const Task& task : taken.tasks) {
      const bool good = task.data == "1:1";
      bad += good ? 0 : 1;
      EXPECT_EQ(
          good ? a.client->finish({task}) : a.client->give_back({task}, "it is damaged").count, 1);
    }
  }
  EXPECT_EQ(bad, 2);
  EXPECT_EQ(master.counts()->failed, 1);
  EXPECT_THAT(said,
              ::testing::ElementsAre("1:0 of epoch 1: ended badly once: it is damaged",
                                     "left out: 1:0 of epoch 1: ended badly twice: it is damaged"));
}

// By its key, which ends with it.
TEST_F(Masters, WhoDiesIsTheFaultOfTheTaskThatItWorkedOn) {
  const Master master(*store_, options(1, 8));
  Trainer a(*store_, network_, "a");
  for (int i = 0; i < 3; ++i) {
    {
      Trainer dies(*store_, network_, "dies_" + std::to_string(i));
      const std::vector<Task> held = dies.client->take(2).tasks;
      ASSERT_EQ(held.size(), 2u);
      EXPECT_EQ(held[0].id, 0) << "begun ones come first";
    }
    while (master.counts()->bad_ends == i) std::this_thread::sleep_for(Milliseconds(5));
  }
  std::map<std::string, int> done;
  train(*a.client, done);
  EXPECT_EQ(done.size(), 7u);
  EXPECT_FALSE(done.contains("1:0"));
  EXPECT_EQ(master.counts()->failed, 1);
  EXPECT_EQ(master.counts()->done, 7);
  EXPECT_FALSE(master.hopeless());
  EXPECT_TRUE(master.finished());
  const std::vector<BadTask> bad = bad_tasks(*store_, "job/task/");
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad[0].deaths, 3);
  EXPECT_EQ(bad[0].why[0], "dies_0 died or was cut off");
}

TEST_F(Masters, AJobWhoseEveryTaskFailsDoesNotGoOn) {
  const Master master(*store_, options(3, 2));
  Trainer a(*store_, network_, "a");
  bool learned = false;
  while (!master.hopeless()) {
    const std::vector<Task> tasks = a.client->take(1).tasks;
    if (!tasks.empty()) learned |= a.client->give_back(tasks, "it is damaged").learned;
  }
  EXPECT_FALSE(learned);
  EXPECT_THAT(*master.hopeless(),
              HasSubstr("all 2 tasks of epoch 1 have failed; task 1 of epoch 1: "
                        "ended badly 3 times: it is damaged"));
  EXPECT_FALSE(master.finished());
  EXPECT_EQ(master.epoch(), 1);
  EXPECT_FALSE(store_->get("job/done"));
}

// A trainer that ends with an error reports it.
TEST_F(Masters, TellWhetherItIsTheJobThatIsWrong) {
  const Master master(*store_, options(1, 4));
  Trainer a(*store_, network_, "a");
  const std::vector<Task> first = a.client->take(1).tasks;
  EXPECT_FALSE(a.client->give_back(first, "an id beyond its table", true).learned);
  const std::vector<Task> again = a.client->take(1).tasks;
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].id, first.at(0).id);
  EXPECT_TRUE(again[0].again);
  EXPECT_EQ(a.client->finish(again), 1);
  EXPECT_TRUE(a.client->give_back(a.client->take(1).tasks, "an id beyond its table", true).learned);
  const std::vector<BadTask> bad = bad_tasks(*store_, "job/task/");
  ASSERT_EQ(bad.size(), 1u) << "the first is done";
  EXPECT_EQ(bad[0].deaths, 1);
}

TEST_F(Masters, StrangersAndNonsenseAreRefused) {
  const Master master(*store_, options(1, 2));
  Trainer a(*store_, network_, "a");
  ASSERT_FALSE(a.client->take(1).tasks.empty());
  Connection connection(
      network_,
      {.address = master.address(), .service = kMasterService, .security = {.token = kToken}});
  for (int op = 0; op < 8; ++op) {
    Frame frame;
    frame.header.op = static_cast<std::uint8_t>(op);
    frame.header.count = 3;
    frame.payload = Payload(std::string("nonsense"));
    const Code code = connection.ask(std::move(frame), in(Milliseconds(60000))).header.code;
    EXPECT_EQ(code, Code::refused) << op;
  }
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { TaskClient(*store_, network_, {.prefix = "job/", .name = "a b"}); }),
              HasSubstr("no name of a trainer"));
}

TEST_F(Masters, WithoutAMasterPatienceEnds) {
  TaskClient client(*store_, network_,
                    {.prefix = "job/", .name = "a", .patience = Milliseconds(120)});
  EXPECT_THROW(client.take(1), Unavailable);
}

}  // namespace
}  // namespace trireme::distributed
