// Groups that lose and gain members: processes that are killed and stopped, with the store server
// of Trireme and a real etcd; and threads of this process where these are enough.
#include "distributed/collectives/elastic_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "base/testing/error.h"
#include "distributed/collectives/testing/member_process.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/testing/etcd_process.h"

namespace trireme::distributed {
namespace {

using testing::Happening;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemberProcess;

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// All members must end with the same step after the first one gets SIGTERM: no step is lost or
// repeated.
void end_of(const std::vector<std::unique_ptr<MemberProcess>>& members) {
  members[0]->signal(SIGTERM);
  std::int64_t steps = 0;
  for (const auto& member : members) {
    const std::optional<Happening> end = member->next("done");
    ASSERT_TRUE(end);
    EXPECT_THAT(end->text, HasSubstr(" right "));
    if (steps == 0) steps = end->numbers[0];
    EXPECT_EQ(end->numbers[0], steps);
    EXPECT_EQ(member->wait(), 0);
  }
}

// Members as processes, with a store that this process serves.
class Processes : public ::testing::Test {
 protected:
  void start(const std::string& name, const std::vector<std::string>& settings) {
    members_.push_back(std::make_unique<MemberProcess>(address(), "job/", name, settings));
  }
  // Waits until all are in one group. It may be the second or third group if they did not start at
  // the same time.
  void wait_for_group_of(std::int64_t size) {
    for (const auto& member : members_) {
      std::optional<Happening> step;
      do {
        step = member->next("step");
        ASSERT_TRUE(step);
      } while (step->numbers[2] != size);
    }
  }
  // It must lose its group soon after `at`, long before any timeout, and commit a step in a group
  // of `size`.
  void expect_recovery(MemberProcess& member, std::int64_t size,
                       std::chrono::steady_clock::time_point at) {
    for (;;) {
      const std::optional<Happening> happening = member.next();
      ASSERT_TRUE(happening);
      const double after = seconds_between(at, happening->at);
      if (after < 0) continue;
      if (happening->what == "broken") broken_ = std::max(broken_, after);
      if (happening->what == "group") formed_ = std::max(formed_, after);
      if (happening->what == "step" && happening->numbers[2] == size) break;
    }
    EXPECT_LT(formed_, 3);
  }
  void record_times() {
    RecordProperty("broken_after_ms", static_cast<int>(broken_ * 1000));
    RecordProperty("formed_after_ms", static_cast<int>(formed_ * 1000));
  }
  // After one of them gets SIGTERM.
  void expect_right_end() { end_of(members_); }
  std::string address() const { return "127.0.0.1:" + std::to_string(server_.port()); }

  const std::unique_ptr<Store> store_ = make_memory_store();
  const EtcdServer server_{*store_, {.security = {.token = "open sesame"}}};
  std::vector<std::unique_ptr<MemberProcess>> members_;
  double broken_ = 0, formed_ = 0;  // seconds until the last of them knew, and was in a new group
};

const std::vector<std::string> kSettings = {"min_members=2", "pause=1000", "count=2000"};

class Killed : public Processes, public ::testing::WithParamInterface<std::pair<int, int>> {};

TEST_P(Killed, TheOthersGoOn) {
  const auto [count, killed] = GetParam();
  for (int i = 0; i < count; ++i) start(std::string(1, static_cast<char>('a' + i)), kSettings);
  wait_for_group_of(count);
  const auto at = std::chrono::steady_clock::now();
  for (int i = 0; i < killed; ++i) members_[static_cast<std::size_t>(i)]->signal(SIGKILL);
  members_.erase(members_.begin(), members_.begin() + killed);
  for (const auto& member : members_) expect_recovery(*member, count - killed, at);
  expect_right_end();
  record_times();
}

INSTANTIATE_TEST_SUITE_P(Elastic, Killed,
                         ::testing::Values(std::pair(3, 1), std::pair(4, 1), std::pair(4, 2)));

TEST_F(Processes, OneThatWasStoppedComesBackAsANewMember) {
  std::vector<std::string> settings = kSettings;
  settings.emplace_back("timeout=300");
  settings.emplace_back("lease=2");
  for (const char* name : {"a", "b", "c"}) start(name, settings);
  wait_for_group_of(3);
  const auto at = std::chrono::steady_clock::now();
  members_[0]->signal(SIGSTOP);
  expect_recovery(*members_[1], 2, at);
  expect_recovery(*members_[2], 2, at);
  record_times();
  members_[0]->signal(SIGCONT);
  // It finds that the others continued, takes their state and joins them.
  wait_for_group_of(3);
  expect_right_end();
}

TEST_F(Processes, OneThatJoinsGetsTheState) {
  for (const char* name : {"a", "b"}) start(name, kSettings);
  wait_for_group_of(2);
  start("c", kSettings);
  const std::optional<Happening> group = members_[2]->next("group");
  ASSERT_TRUE(group);
  EXPECT_EQ(group->numbers[1], 2);  // its rank: behind the others
  EXPECT_GT(group->numbers[3], 0);  // steps that were committed before it came
  wait_for_group_of(3);
  expect_right_end();
}

TEST_F(Processes, MembersComeAndGoAtAnyMoment) {
  std::vector<std::string> settings = kSettings;
  settings[0] = "min_members=1";
  start("stays", settings);
  for (int i = 0; i < 6; ++i) {
    start(std::to_string(i), settings);
    wait_for_group_of(2);
    members_[1]->next("step");
    std::this_thread::sleep_for(Milliseconds(3 * i));
    members_[1]->signal(SIGKILL);
    members_.pop_back();
  }
  expect_right_end();
}

TEST(Elastic, AGroupGoesOnWhileTheStoreIsAway) {
  testing::EtcdProcess etcd;
  std::vector<std::unique_ptr<MemberProcess>> members;
  for (const char* name : {"a", "b"}) {
    members.push_back(std::make_unique<MemberProcess>(
        etcd.address(), "job/", name,
        std::vector<std::string>{"min_members=2", "lease=2", "pause=10000", "count=10",
                                 "token=0"}));
  }
  std::optional<Happening> step = members[0]->next("step");
  ASSERT_TRUE(step);
  const std::int64_t generation = step->numbers[1];
  etcd.kill();
  const std::int64_t before = step->numbers[0];
  do {
    step = members[0]->next("step");
    ASSERT_TRUE(step);
    EXPECT_EQ(step->numbers[1], generation);
  } while (step->numbers[0] < before + 50);
  etcd.restart();
  // The group stays the same when the leases are renewed, and a third member can join it.
  members.push_back(std::make_unique<MemberProcess>(
      etcd.address(), "job/", "c",
      std::vector<std::string>{"min_members=2", "lease=2", "count=10", "token=0"}));
  do {
    step = members[2]->next("step");
    ASSERT_TRUE(step);
  } while (step->numbers[2] < 3);
  EXPECT_GT(step->numbers[1], generation);
  end_of(members);
}

// A member as a thread. Its state is one number; each step adds the mean of the inputs of all
// members.
struct Counter {
  Counter(Store& store, const std::string& name, std::int64_t committed = 0,
          std::size_t min_members = 1, double start = 0)
      : value(start),
        group(store,
              {.prefix = "job/",
               .name = name,
               .min_members = min_members,
               .settle = Milliseconds(1000),
               .patience = Milliseconds(60000)},
              {[this] {
                 std::vector<std::byte> bytes(sizeof value);
                 std::memcpy(bytes.data(), &value, sizeof value);
                 return bytes;
               },
               [this](std::span<const std::byte> bytes) {
                 std::memcpy(&value, bytes.data(), sizeof value);
                 ++restored;
               }},
              committed) {}

  // `before` is called in each attempt of the exchange.
  bool add(double more, const std::function<void(Group&)>& before = {}) {
    double sum = 0;
    const bool committed = group.step([&](const std::shared_ptr<Group>& g) {
      if (before) before(*g);
      sum = more;
      g->all_reduce(std::span<double>(&sum, 1), Reduction::mean);
    });
    if (committed) value += sum;
    return committed;
  }

  double value;
  int restored = 0;
  ElasticGroup group;
};

TEST(Elastic, TheFirstGroupTakesTheStateOfTheFarthest) {
  const auto store = make_memory_store();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      Counter counter(*store, std::to_string(i), i == 1 ? 5 : 0, 3, i * 100.0);
      counter.group.begin();
      EXPECT_EQ(counter.group.committed(), 5);
      EXPECT_EQ(counter.value, 100);
      EXPECT_EQ(counter.restored, i == 1 ? 0 : 1);
      EXPECT_TRUE(counter.add(i));
      EXPECT_EQ(counter.value, 101);
      EXPECT_EQ(counter.group.committed(), 6);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Elastic, AStepThatBreaksIsDoneAgainByTheNextGroup) {
  const auto store = make_memory_store();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      Counter counter(*store, std::to_string(i), 0, 2);
      counter.group.begin();
      int attempts = 0;
      const auto breaks = [&](Group& group) {
        if (++attempts == 1 && i == 0) group.abort("for the test");
      };
      for (int step = 1; step <= 3; ++step) {
        attempts = 0;
        EXPECT_TRUE(counter.add(step + i, breaks));
        EXPECT_GE(attempts, i == 0 ? 2 : 1);
        EXPECT_EQ(counter.group.committed(), step);
      }
      EXPECT_EQ(counter.value, 1.5 + 2.5 + 3.5);
      counter.group.begin()->barrier();  // no member leaves before all are done
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Elastic, WhoIsLeftGoesOnAlone) {
  const auto store = make_memory_store();
  std::atomic<int> steps = 0;
  std::thread leaves([&] {
    Counter counter(*store, "a", 0, 1);
    while (counter.group.begin()->size() < 2) std::this_thread::sleep_for(Milliseconds(1));
    while (steps < 1) EXPECT_TRUE(counter.add(1));
  });
  Counter counter(*store, "b", 0, 1);
  while (counter.group.begin()->size() < 2) std::this_thread::sleep_for(Milliseconds(1));
  while (counter.group.begin()->size() == 2) {
    EXPECT_TRUE(counter.add(1));
    ++steps;
  }
  leaves.join();
  EXPECT_TRUE(counter.add(1));
  EXPECT_EQ(counter.group.begin()->size(), 1);
  EXPECT_EQ(counter.value, static_cast<double>(counter.group.committed()));
}

TEST(Elastic, NoGroupInTimeIsTold) {
  const auto store = make_memory_store();
  ElasticGroup group(
      *store, {.prefix = "job/", .name = "a", .min_members = 2, .patience = Milliseconds(50)}, {});
  EXPECT_THROW(group.begin(), Unavailable);
  EXPECT_THAT(error_of(ErrorKind::io, [&] { group.begin(); }),
              HasSubstr("no group of at least 2 members has formed below job/ within 0.05 s"));
}

TEST(Elastic, WhatIsWrongForGoodEndsIt) {
  const auto store = make_memory_store();
  ElasticGroup first(*store, {.prefix = "job/", .name = "a"}, {});
  first.begin();
  ElasticGroup second(*store, {.prefix = "job/", .name = "a"}, {});
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { second.begin(); }), HasSubstr("is called a"));
  ElasticOptions nowhere{.prefix = "other/", .name = "a", .min_members = 2};
  nowhere.group.interface = "nosuch0";
  ElasticGroup a(*store, nowhere, {});
  nowhere.name = "b";
  ElasticGroup b(*store, nowhere, {});
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { a.begin(); }), HasSubstr("no network interface"));
}

}  // namespace
}  // namespace trireme::distributed
