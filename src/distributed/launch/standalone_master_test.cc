// Trainers and masters without a launcher: the end of the job, and orders to stop.

#include "distributed/launch/standalone_master.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/testing/wait_until.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/lease_keeper.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/process_registry.h"

namespace trireme::distributed {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class StandaloneMasterTest : public ::testing::Test {
 protected:
  StandaloneMasterTest() {
    options_.prefix = "job/";
    options_.trainers = 3;
    options_.servers = 2;
    options_.job_name = "clicks";
    options_.until_done = true;
  }
  void put(const std::string& key, const std::string& value) { store_->put("job/" + key, value); }
  // Waits at most a minute until it is over or stopped: returns "over", or its message.
  static std::string end_of(StandaloneMaster& master) {
    try {
      for (const auto until = Clock::now() + std::chrono::minutes(1); Clock::now() < until;) {
        if (master.over()) return "over";
        std::this_thread::sleep_for(Milliseconds(5));
      }
    } catch (const JobStopped& stop) {
      return stop.message;
    }
    return "nothing";
  }
  // Reads at least twice.
  static bool goes_on(StandaloneMaster& master) {
    for (const auto until = Clock::now() + Milliseconds(700); Clock::now() < until;) {
      if (master.over()) return false;
      std::this_thread::sleep_for(Milliseconds(5));
    }
    return true;
  }
  StopReport report() {
    return stop_report_of("stopped", store_->get("job/orders/stopped")->value);
  }

  const std::unique_ptr<Store> store_ = make_memory_store();
  ProcessRegistry members_{*store_, "job/"};
  RoleOptions options_;
};

TEST_F(StandaloneMasterTest, TheFirstMasterWritesWhatIsWanted) {
  const StandaloneMaster first(*store_, options_);
  EXPECT_EQ(store_->get("job/orders/wanted")->value, "3 2");
  EXPECT_EQ(store_->get("job/orders/limits")->value, "1 4096");
  put("orders/wanted", "3 4");
  const StandaloneMaster second(*store_, options_);
  EXPECT_EQ(store_->get("job/orders/wanted")->value, "3 4") << "it was scaled meanwhile";
}

// Also for one that never led.
TEST_F(StandaloneMasterTest, AJobIsOverWhenAllTrainersAre) {
  StandaloneMaster master(*store_, options_);
  EXPECT_TRUE(goes_on(master));
  {
    const LeaseKeeper lease(*store_, {});
    members_.join({.name = "a", .role = "trainer"}, lease);
    put("done", "1");
    EXPECT_TRUE(goes_on(master)) << "one of them tests and saves";
  }
  EXPECT_EQ(end_of(master), "over");
}

TEST_F(StandaloneMasterTest, AJobThatIsStoppedWaitsForItsCheckpointAndItsTrainers) {
  StandaloneMaster master(*store_, options_), another(*store_, options_);
  std::optional<LeaseKeeper> lease;
  lease.emplace(*store_, LeaseOptions{});
  members_.join({.name = "a", .role = "trainer"}, *lease);
  put("task/epoch", "1 begun");
  put("process/master/m", text_of(ProcessEntry{"m", "master", "h", 2, 1, "h:2"}));
  put("process/server/s", text_of(ProcessEntry{"s", "server", "h", 3, 1, "h:3"}));
  put("orders/stop", "60 60");
  EXPECT_TRUE(goes_on(master)) << "the checkpoint is not there";
  put("orders/last-checkpoint", text_of(LastCheckpoint{.checkpoint = 4, .epoch = 1, .done = 7}));
  EXPECT_TRUE(goes_on(master)) << "a trainer is";
  EXPECT_FALSE(store_->get("job/orders/stopped"));
  lease.reset();
  EXPECT_EQ(end_of(master), "the job was stopped");
  EXPECT_EQ(report().ended, 2) << "servers stay";
  EXPECT_EQ(report().last->checkpoint, 4);
  EXPECT_THAT(report().go_on, AllOf(HasSubstr("distributed.resume=true"),
                                    HasSubstr("kubectl delete job clicks-trainers clicks-master")));
  // The process that gave the order has read it.
  store_->erase("job/orders/stop");
  EXPECT_EQ(end_of(another), "the job was stopped");
}

TEST_F(StandaloneMasterTest, TrainersThatDoNotLeaveAreNotWaitedForForEver) {
  StandaloneMaster master(*store_, options_);
  const LeaseKeeper lease(*store_, {});
  members_.join({.name = "a", .role = "trainer"}, lease);
  put("task/epoch", "1 begun");
  put("orders/stop", "1 0");
  EXPECT_EQ(end_of(master), "the job was stopped");
  EXPECT_EQ(report().last, std::nullopt) << "none was ordered";
}

TEST_F(StandaloneMasterTest, ACheckpointThatDoesNotComeIsNotWaitedForForEver) {
  put("task/epoch", "1 begun");
  const JobOrders orders(*store_, "job/");
  EXPECT_FALSE(orders.state().ends());
  put("orders/stop", "1 1");
  ASSERT_TRUE(wait_until([&] { return orders.state().stop.has_value(); }));
  const Clock::time_point since = orders.state().since;
  ASSERT_TRUE(wait_until([&] { return orders.state().ends(); }));
  EXPECT_GE(Clock::now(), since + std::chrono::seconds(1));
  EXPECT_THAT(orders.state().last_checkpoint()->why, HasSubstr("it was not there after 1 s"));
}

TEST_F(StandaloneMasterTest, ATrainerIsToldToLeaveOnce) {
  const EtcdServer server(*store_, {.security = {.token = "t"}});
  options_.store = "127.0.0.1:" + std::to_string(server.port());
  options_.store_security.token = "t";
  std::atomic<int> left = 0;
  const StopWatch watch(options_, [&] { ++left; });
  EXPECT_FALSE(watch.came());
  put("orders/stop", "10 60");
  const auto until = Clock::now() + std::chrono::minutes(1);
  while (left == 0 && Clock::now() < until) std::this_thread::sleep_for(Milliseconds(5));
  EXPECT_EQ(left, 1) << "nothing had begun, so there is no checkpoint to wait for";
  EXPECT_TRUE(watch.came());
  // One that starts when all is over.
  put("orders/stopped", "{}");
  store_->erase("job/orders/stop");
  const StopWatch late(options_, [&] { ++left; });
  while (left == 1 && Clock::now() < until) std::this_thread::sleep_for(Milliseconds(5));
  EXPECT_EQ(left, 2);
}

}  // namespace
}  // namespace trireme::distributed
