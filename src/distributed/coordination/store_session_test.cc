#include "distributed/coordination/store_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "base/error.h"
#include "base/testing/error.h"
#include "distributed/coordination/async_store_read.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/testing/cut_store.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

class StoreSessions : public ::testing::Test {
 protected:
  StoreSession::Enter joins() {
    return [this](const LeaseKeeper& lease) {
      members_.join({.name = "anna", .role = "trainer"}, lease);
    };
  }
  bool is_member() { return !ProcessRegistry(*store_, "job/").list("trainer").empty(); }
  // As when it is cut off for longer than its lease.
  void end_lease() {
    ProcessRegistry(*store_, "job/").forget("trainer", "anna");
    EXPECT_FALSE(is_member());
  }

  const std::unique_ptr<Store> store_ = make_memory_store();
  CutStore cut_{*store_};  // for the process
  ProcessRegistry members_{cut_, "job/"};
};

TEST_F(StoreSessions, IsThereFromTheBeginningToTheEnd) {
  {
    const StoreSession session(cut_, 2, joins());
    EXPECT_TRUE(is_member());
    EXPECT_FALSE(session.lost());
    EXPECT_EQ(session.absences(), 0);
  }
  EXPECT_FALSE(is_member());
}

TEST_F(StoreSessions, IsThereAgainWhenItsLeaseHasEnded) {
  const StoreSession session(cut_, 2, joins());
  for (int times = 1; times <= 3; ++times) {
    end_lease();
    ASSERT_TRUE(wait_until([&] { return is_member(); })) << times;
    EXPECT_EQ(session.absences(), times) << "known before anybody sees that it is back";
  }
  EXPECT_FALSE(session.lost());
}

// The lease is granted, and the store goes away before the key is written: that there is a lease is
// not enough.
TEST_F(StoreSessions, ALeaseWithoutItsKeyIsNoPresence) {
  std::atomic<int> tried{0};
  const StoreSession session(cut_, 2, [&](const LeaseKeeper& lease) {
    if (++tried > 1 && tried < 5) throw Unavailable("away again");
    members_.join({.name = "anna", .role = "trainer"}, lease);
  });
  end_lease();
  EXPECT_TRUE(wait_until([&] { return is_member(); }));
  EXPECT_EQ(tried, 5);
  EXPECT_EQ(session.absences(), 1);
}

// Of the grant, too: then there is no lease at all for a while.
TEST_F(StoreSessions, AStoreThatIsAwayIsWaitedFor) {
  const StoreSession session(cut_, 2, joins());
  cut_.cut = true;
  end_lease();
  ASSERT_TRUE(wait_until([&] { return session.lost(); }));
  EXPECT_NO_THROW(session.check());
  EXPECT_EQ(session.absences(), 0) << "it has not been notified";
  cut_.cut = false;
  EXPECT_TRUE(wait_until([&] { return is_member(); }));
  EXPECT_EQ(session.absences(), 1);
}

TEST_F(StoreSessions, TellsWhatNoLaterAttemptWouldMend) {
  const StoreSession session(cut_, 2, joins());
  cut_.cut = true;
  end_lease();
  const LeaseKeeper other(*store_, {});
  ProcessRegistry(*store_, "job/")
      .join({.name = "anna", .role = "trainer", .address = "elsewhere"}, other);
  cut_.cut = false;
  std::string told;
  ASSERT_TRUE(wait_until([&] {
    try {
      session.check();
    } catch (const Error& error) {
      told = error.what();
    }
    return !told.empty();
  }));
  EXPECT_THAT(told, HasSubstr("another trainer is called anna already, at elsewhere"));
}

TEST_F(StoreSessions, BecomesSomethingElse) {
  StoreSession session(cut_, 2, joins());
  session.become([this](const LeaseKeeper& lease) { members_.leave("trainer", "anna", lease); });
  EXPECT_FALSE(is_member());
  session.with([this](const LeaseKeeper& lease) {
    EXPECT_EQ(members_.claim_place("last", 1, lease, "anna"), 0);
  });
  EXPECT_TRUE(members_.forget("last", "anna"));
  ASSERT_TRUE(wait_until([&] { return session.absences() == 1; }));
  EXPECT_FALSE(is_member()) << "never again";
}

TEST_F(StoreSessions, ThatCannotBeginAreNone) {
  cut_.cut = true;
  EXPECT_THROW(StoreSession(cut_, 2, joins()), Unavailable);
  cut_.cut = false;
  EXPECT_THROW(StoreSession(cut_, 2, [](const LeaseKeeper&) { throw Unavailable("away"); }),
               Unavailable);
  EXPECT_FALSE(is_member());
}

TEST_F(StoreSessions, PublishesOnEachLease) {
  StoreSession session(cut_, 2, joins());
  const auto is = [this](const std::string& value) {
    const std::optional<Entry> entry = store_->get("job/progress");
    return entry && entry->value == value && entry->lease != 0;
  };
  session.publish("job/progress", "1");
  EXPECT_TRUE(wait_until([&] { return is("1"); }));
  session.publish("job/progress", "2");
  EXPECT_TRUE(wait_until([&] { return is("2"); }));
  end_lease();
  EXPECT_TRUE(wait_until([&] { return session.absences() == 1 && is("2"); })) << "again";
}

// --- Glances at a store

TEST_F(StoreSessions, AGlanceSeesWhatIsThereAfterItWasAsked) {
  AsyncStoreRead<std::optional<Entry>> glance([this] { return cut_.get("a"); });
  EXPECT_EQ(glance.now(Milliseconds(60000)).value(), std::nullopt);
  for (const std::string value : {"1", "2", "3"}) {
    store_->put("a", value);
    EXPECT_EQ(glance.now(Milliseconds(60000)).value()->value, value);
  }
}

TEST_F(StoreSessions, AGlanceWaitsForNoStoreThatIsAway) {
  AsyncStoreRead<std::optional<Entry>> glance([this] { return cut_.get("a"); });
  cut_.patience = Milliseconds(3000);
  cut_.cut = true;
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_FALSE(glance.now(Milliseconds(200)));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(glance.now(Milliseconds(60000)));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20)) << "of 180";
  cut_.cut = false;
  EXPECT_TRUE(wait_until([&] { return glance.now(Milliseconds(60000)).has_value(); }));
}

TEST_F(StoreSessions, AGlanceTellsOfOtherErrors) {
  AsyncStoreRead<int> glance([]() -> int { fail_data("nonsense"); });
  EXPECT_THAT(error_of(ErrorKind::data, [&] { glance.now(Milliseconds(60000)); }),
              HasSubstr("nonsense"));
}

}  // namespace
}  // namespace trireme::distributed
