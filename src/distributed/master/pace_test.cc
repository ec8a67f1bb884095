// Trainers of different speed; none may be too far ahead.

#include "distributed/master/pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/testing/error.h"
#include "distributed/coordination/lease_keeper.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/master/master.h"
#include "distributed/master/protocol.h"
#include "distributed/master/step_clock.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

PaceRequest known(const std::string& name, std::uint64_t finished, std::uint32_t lead = 2) {
  return {.name = name, .finished = finished, .lead = lead};
}
PaceRequest entering(const std::string& name, std::uint64_t finished = 0) {
  return {.name = name, .finished = finished, .lead = 2, .enters = true};
}

TEST(PaceOf, WhoIsTooFarAheadWaits) {
  Pace pace;
  pace.set_working({"a", "b"});
  EXPECT_FALSE(pace.ask(entering("a")).go) << "the clock of b is unknown";
  EXPECT_TRUE(pace.ask(entering("b")).go);
  EXPECT_TRUE(pace.ask(entering("a")).go);
  EXPECT_TRUE(pace.ask(known("a", 1)).go);
  EXPECT_FALSE(pace.ask(known("a", 2)).go) << "then it would be 3 ahead of b";
  PaceRequest before = known("a", 1);  // with a step that servers may not have yet
  before.unfinished = 1;
  EXPECT_FALSE(pace.ask(before).go);
  EXPECT_TRUE(pace.ask(known("b", 1)).go);
  EXPECT_TRUE(pace.ask(known("a", 2)).go);
  EXPECT_EQ(pace.ask(known("a", 2)).slowest, 1u);
}

TEST(PaceOf, WhoHasNoWorkHoldsNobodyUp) {
  Pace pace;
  pace.set_working({"a", "b"});
  pace.ask(entering("a"));
  pace.ask(entering("b"));
  EXPECT_FALSE(pace.ask(known("a", 9)).go);
  pace.set_working({"a"});
  EXPECT_TRUE(pace.ask(known("a", 9)).go);
  EXPECT_TRUE(pace.ask(known("a", 20)).go);
  pace.set_working({"a", "b"});
  EXPECT_TRUE(pace.ask(known("a", 21)).go) << "b has work again, and begins where the slowest is";
  const PaceAnswer again = pace.ask(known("b", 0));
  EXPECT_TRUE(again.go);
  EXPECT_EQ(again.finished, 21u);
  EXPECT_FALSE(pace.ask(known("a", 23)).go);
}

TEST(PaceOf, WhoIsNewBeginsWhereTheSlowestIs) {
  Pace pace;
  pace.set_working({"a", "b"});
  pace.ask(entering("a"));
  pace.ask(entering("b"));
  pace.ask(known("a", 7));
  pace.ask(known("b", 6));
  pace.set_working({"a", "b", "c"});
  EXPECT_FALSE(pace.ask(known("b", 7)).go) << "c has work and has not said how far it is";
  EXPECT_EQ(pace.ask(entering("c")).finished, 7u);
  EXPECT_TRUE(pace.ask(known("b", 7)).go);
}

// Clocks are not lost with a leader, because trainers report them again.
TEST(PaceOf, AnotherLeaderWaitsForAllWhoHaveWork) {
  Pace next;
  next.set_working({"a", "b", "c"});
  EXPECT_FALSE(next.ask(known("a", 100)).go);
  EXPECT_FALSE(next.ask(entering("c", 3)).go);
  EXPECT_FALSE(next.ask(known("a", 100)).go);
  EXPECT_TRUE(next.ask(known("b", 98)).go);
  EXPECT_FALSE(next.ask(known("a", 100)).go);
  EXPECT_EQ(next.ask(entering("c", 3)).finished, 98u);
}

// --- With a master

class Paced : public ::testing::Test {
 protected:
  struct Trainer {
    Trainer(Paced& test, const std::string& name)
        : lease(*test.store_, {.seconds = 20}), members(*test.store_, "job/") {
      members.join({.name = name, .role = "trainer"}, lease);
      client.emplace(*test.store_, test.network_,
                     TaskClientOptions{.prefix = "job/", .name = name, .security = {.token = "t"}});
    }
    LeaseKeeper lease;
    ProcessRegistry members;
    std::optional<TaskClient> client;
  };
  MasterOptions options(int tasks) const {
    MasterOptions options{.prefix = "job/"};
    options.server.security.token = "t";
    options.lease = 20;
    options.min_timeout = Milliseconds(60000);
    options.tasks = [tasks](std::int64_t) {
      return std::vector<std::string>(static_cast<std::size_t>(tasks), "x");
    };
    return options;
  }

  std::unique_ptr<Store> store_ = make_memory_store();
  Network network_;
};

// All begin before any finishes. A task has 5 steps; a trainer without steps does not count any
// more.
TEST_F(Paced, TheGapIsNeverLarger) {
  constexpr int kTrainers = 3, kSteps = 5;
  constexpr std::uint32_t kLead = 2;
  const Master master(*store_, options(30));
  constexpr std::int64_t kIdle = INT64_MAX;
  std::array<std::atomic<std::int64_t>, kTrainers> finished;
  for (auto& each : finished) each = kIdle;
  std::atomic<std::int64_t> largest{0};
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < kTrainers; ++rank) {
    threads.emplace_back([&, rank] {
      Trainer trainer(*this, "t" + std::to_string(rank));
      StepClock clock(*trainer.client, {.lead = kLead});
      for (;;) {
        const Taken work = trainer.client->take(1);
        if (work.all_done) return;
        if (work.tasks.empty()) clock.idle();
        taken += work.tasks.empty() ? 0 : 1;
        for (int step = 0; step < kSteps && !work.tasks.empty(); ++step) {
          ASSERT_TRUE(clock.begin());
          if (step == 0) finished[rank] = static_cast<std::int64_t>(clock.steps());
          if (rank == 0) std::this_thread::sleep_for(Milliseconds(4));
          clock.end();
          finished[rank] = static_cast<std::int64_t>(clock.steps());
          for (const auto& other : finished) {
            const std::int64_t gap = finished[rank] - other;
            std::int64_t seen = largest;
            while (gap > seen && !largest.compare_exchange_weak(seen, gap)) {
            }
          }
        }
        finished[rank] = kIdle;
        trainer.client->finish(work.tasks);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 30);
  EXPECT_LE(largest, kLead);
  EXPECT_GT(largest, 0) << "no trainer was ahead: the test tests nothing";
}

TEST_F(Paced, TheDeadAreForgotten) {
  const Master master(*store_, options(10));
  Trainer a(*this, "a");
  std::optional<Trainer> dies(std::in_place, *this, "b");
  ASSERT_EQ(a.client->take(1).tasks.size(), 1u);
  ASSERT_EQ(dies->client->take(1).tasks.size(), 1u);
  StepClock clock(*a.client, {.lead = 1});
  StepClock other(*dies->client, {.lead = 1});
  std::thread entering([&] { ASSERT_TRUE(other.begin()); });
  ASSERT_TRUE(clock.begin());
  entering.join();
  clock.end();
  std::atomic<bool> gone{false};
  std::thread death([&] {
    std::this_thread::sleep_for(Milliseconds(150));
    gone = true;
    dies.reset();
  });
  EXPECT_TRUE(clock.begin());
  EXPECT_TRUE(gone) << "it did not wait";
  death.join();
}

TEST_F(Paced, WaitingEndsWhenToldTo) {
  const Master master(*store_, options(10));
  Trainer a(*this, "a"), b(*this, "b");
  ASSERT_EQ(a.client->take(1).tasks.size(), 1u);
  ASSERT_EQ(b.client->take(1).tasks.size(), 1u);  // and is never heard of
  int asked = 0;
  StepClock clock(*a.client, {.lead = 1, .stopped = [&] { return ++asked > 1; }});
  EXPECT_FALSE(clock.begin());
  StepClock impatient(*a.client, {.lead = 1, .patience = Milliseconds(0)});
  EXPECT_THROW(impatient.begin(), Unavailable);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { StepClock(*a.client, {.lead = 0}); }),
              HasSubstr("at least 1 step"));
}

}  // namespace
}  // namespace trireme::distributed
