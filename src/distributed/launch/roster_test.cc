#include "distributed/launch/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"
#include "distributed/coordination/lease_keeper.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/testing/cut_store.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

// The state of launcher 1 as launcher 0 sees it.
bool is_alive(Roster& first) {
  const std::vector<Roster::Other> others = first.others();
  return others.size() == 1 && others[0].alive;
}

TEST(Roster, ALauncherThatWasCutOffIsThereAgain) {
  const auto store = make_memory_store();
  CutStore seen(*store);
  Roster first(*store, "job/", 0);
  const Roster second(seen, "job/", 1, kMinLease);
  ASSERT_TRUE(is_alive(first));
  seen.cut = true;
  ASSERT_TRUE(wait_until([&] { return !is_alive(first); })) << "its lease has ended";
  seen.cut = false;
  EXPECT_TRUE(wait_until([&] { return is_alive(first); }));
  EXPECT_NO_THROW(second.check());
}

TEST(Roster, ARankThatAnotherHasByNowIsToldOf) {
  const auto store = make_memory_store();
  CutStore seen(*store);
  const Roster roster(seen, "job/", 1, kMinLease);
  seen.cut = true;
  ASSERT_TRUE(wait_until([&] { return !store->get("job/place/launcher/1"); }));
  const LeaseKeeper lease(*store, {.seconds = 60});
  store->put("job/place/launcher/1", "here", lease.id());
  seen.cut = false;
  std::string told;
  ASSERT_TRUE(wait_until([&] {
    try {
      roster.check();
    } catch (const Error& error) {
      told = error.what();
    }
    return !told.empty();
  }));
  EXPECT_THAT(told, HasSubstr("another launcher has rank 1 of this job"));
}

}  // namespace
}  // namespace trireme::distributed
