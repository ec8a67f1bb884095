#include "distributed/coordination/election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/testing/error.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/testing/cut_store.h"

namespace trireme::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Milliseconds kLong{60000};  // no test waits so long

// Returns whether a lease of this many seconds is renewed for longer than it lasts. A machine that
// stalls for a second loses any short lease, so there are some attempts.
bool is_kept(std::int64_t seconds) {
  const auto store = make_memory_store();
  for (int attempt = 0; attempt < 8; ++attempt) {
    const LeaseKeeper keeper(*store, {.seconds = seconds});
    store->put("a", "1", keeper.id());
    const auto until = Clock::now() + std::chrono::milliseconds(1250 * seconds);
    while (Clock::now() < until && !keeper.lost()) std::this_thread::sleep_for(Milliseconds(5));
    if (!keeper.lost() && store->get("a")) return true;
  }
  return false;
}

TEST(LeaseKeeper, KeepsItsLeaseAlive) {
  std::future<bool> longer = std::async(std::launch::async, is_kept, kMinLease + 1);
  EXPECT_TRUE(is_kept(kMinLease));
  EXPECT_TRUE(longer.get());
}

// Fault 20: the time of a lease was counted from the answer of the store. If that came late, the
// owner believed in a lease that other processes could already take.
TEST(LeaseKeeper, CountsFromBeforeTheRequest) {
  class LateStore : public CutStore {
   public:
    using CutStore::CutStore;
    std::int64_t grant(std::int64_t seconds) override {
      const auto start = Clock::now();
      const std::int64_t id = CutStore::grant(seconds);
      std::this_thread::sleep_until(start + std::chrono::seconds(seconds));
      cut = true;
      return id;
    }
  };
  const auto store = make_memory_store();
  LateStore late(*store);
  const LeaseKeeper keeper(late, {.seconds = 2});
  EXPECT_TRUE(keeper.lost());
}

TEST(LeaseKeeper, RevokesItsLease) {
  const auto store = make_memory_store();
  std::int64_t id = 0;
  {
    const LeaseKeeper keeper(*store, {.seconds = 60});
    id = keeper.id();
    store->put("a", "1", id);
    EXPECT_TRUE(store->get("a"));
  }
  EXPECT_FALSE(store->get("a"));
  EXPECT_FALSE(store->keep_alive(id));
}

TEST(LeaseKeeper, KnowsThatItIsLostBeforeTheStoreForgetsIt) {
  const auto store = make_memory_store();
  CutStore cut(*store);
  std::atomic<int> told{0};
  const LeaseKeeper keeper(cut, {.seconds = 2, .on_lost = [&] { ++told; }});
  store->put("a", "1", keeper.id());
  cut.cut = true;
  while (!keeper.lost()) {
    EXPECT_TRUE(store->get("a"));
    std::this_thread::sleep_for(Milliseconds(5));
  }
  ASSERT_TRUE(wait_until([&] { return !store->get("a"); }));
  EXPECT_FALSE(keeper.ended()) << "no answer has said so";
  cut.cut = false;
  EXPECT_TRUE(wait_until([&] { return keeper.ended(); }));
  EXPECT_TRUE(keeper.lost());
  EXPECT_EQ(told, 1);
}

TEST(LeaseKeeper, GoesOnWithALeaseThatAStoreStillHasWhenItIsBack) {
  TestClock clock;
  const auto store = make_memory_store({.now = [&] { return clock.now(); }});
  CutStore cut(*store);
  const LeaseKeeper keeper(cut, {.seconds = 2});
  store->put("a", "1", keeper.id());
  const auto heard = keeper.heard();
  clock.stop();
  cut.cut = true;
  ASSERT_TRUE(wait_until([&] { return keeper.lost(); }));
  std::this_thread::sleep_for(Milliseconds(500));  // two attempts of the keeper
  EXPECT_TRUE(keeper.lost());
  EXPECT_FALSE(keeper.ended());
  clock.resume();
  cut.cut = false;
  ASSERT_TRUE(wait_until([&] { return !keeper.lost(); }));
  EXPECT_GT(keeper.heard(), heard);
  EXPECT_FALSE(keeper.ended());
  EXPECT_TRUE(store->get("a"));
}

TEST(LeaseKeeper, HearsThatItsLeaseHasEnded) {
  const auto store = make_memory_store();
  std::atomic<int> told{0};
  const LeaseKeeper keeper(*store, {.seconds = kMinLease, .on_lost = [&] { ++told; }});
  store->revoke(keeper.id());
  EXPECT_TRUE(wait_until([&] { return told == 1; }));
  EXPECT_TRUE(keeper.ended());
}

TEST(LeaseKeeper, ShorterOnesAreRefused) {
  const auto store = make_memory_store();
  for (const std::int64_t seconds : {1, 0, -5}) {
    EXPECT_THAT(
        error_of(ErrorKind::usage, [&] { LeaseKeeper(*store, {.seconds = seconds}); }),
        ::testing::AllOf(::testing::HasSubstr("a lease of " + std::to_string(seconds) + " s"),
                         ::testing::HasSubstr("take 2 s or more")));
  }
}

TEST(Election, OneLeadsAndTheNextTakesOver) {
  const auto store = make_memory_store();
  Election election(*store, "job/leader");
  EXPECT_FALSE(election.leader());
  auto first_lease = std::make_unique<LeaseKeeper>(*store, LeaseOptions{.seconds = 60});
  const LeaseKeeper second_lease(*store, {.seconds = 60});
  const Leader first = election.campaign("first", *first_lease, kLong).value();
  EXPECT_EQ(election.leader()->name, "first");
  EXPECT_FALSE(election.campaign("second", second_lease, Milliseconds(50)));
  // Again, as after an answer that was lost.
  EXPECT_EQ(election.campaign("first", *first_lease, kLong)->epoch, first.epoch);

  std::thread later([&] {
    std::this_thread::sleep_for(Milliseconds(100));
    first_lease.reset();
  });
  const Leader second = election.campaign("second", second_lease, kLong).value();
  later.join();
  EXPECT_GT(second.epoch, first.epoch);
  EXPECT_EQ(election.leader()->epoch, second.epoch);

  // What the one before still wants to write is refused.
  EXPECT_FALSE(
      store->commit({.when = {election.guard(first)}, .then = {Put{"a", "old"}}}).succeeded);
  EXPECT_TRUE(
      store->commit({.when = {election.guard(second)}, .then = {Put{"a", "new"}}}).succeeded);
  EXPECT_FALSE(election.resign(first));
  EXPECT_TRUE(election.resign(second));
  EXPECT_FALSE(election.leader());
}

TEST(Election, NeverTwoAtOnce) {
  const auto store = make_memory_store();
  std::atomic<int> leading{0}, times{0};
  std::vector<std::thread> candidates;
  for (int i = 0; i < 4; ++i) {
    candidates.emplace_back([&, i] {
      Election election(*store, "leader");
      const LeaseKeeper lease(*store, {.seconds = 60});
      for (int k = 0; k < 10; ++k) {
        const auto leader = election.campaign(std::to_string(i), lease, kLong);
        ASSERT_TRUE(leader);
        EXPECT_EQ(++leading, 1);
        std::this_thread::sleep_for(Milliseconds(1));
        --leading;
        ++times;
        EXPECT_TRUE(election.resign(*leader));
      }
    });
  }
  for (std::thread& candidate : candidates) candidate.join();
  EXPECT_EQ(times, 40);
}

}  // namespace
}  // namespace trireme::distributed
