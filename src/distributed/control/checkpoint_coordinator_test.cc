// A checkpoint in progress when the store becomes unavailable.

#include "distributed/control/checkpoint_coordinator.h"

#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <string>

#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/testing/cut_store.h"
#include "distributed/master/master.h"
#include "distributed/master/task_client.h"

namespace trireme::distributed {
namespace {

class CheckpointCoordinatorOf : public ::testing::Test {
 protected:
  CheckpointCoordinatorOf() {
    members_.join({.name = "anna", .role = "trainer"}, lease_);
    MasterOptions options;
    options.prefix = "job/";
    options.server.security.token = "open sesame";
    options.tasks = [](std::int64_t) { return std::vector<std::string>(8, "x"); };
    options.hold = true;
    options.min_timeout = Milliseconds(60000);
    master_.emplace(*store_, options);
    checkpoints_.emplace(
        seen_, *master_,
        CheckpointCoordinatorOptions{.prefix = "job/", .folder = "none", .every = 0});
  }
  // One check of the leader, whose checkpoints wait for all pending tasks.
  void poll() {
    checkpoints_->lead(
        [this](const Leadership&) { master_->go_on(0); },
        [this] { checkpoints_->poll(0, [](const QueueState&, bool) { return false; }); });
  }

  const std::unique_ptr<Store> store_ = make_memory_store();
  CutStore seen_{*store_};  // as the code that makes checkpoints sees it
  const LeaseKeeper lease_{*store_, {.seconds = 60}};
  ProcessRegistry members_{*store_, "job/"};
  Network network_;
  std::optional<Master> master_;
  std::optional<CheckpointCoordinator> checkpoints_;
};

TEST_F(CheckpointCoordinatorOf, NobodyWaitsForACheckpointWhileTheStoreIsAway) {
  TaskClient anna(*store_, network_,
                  {.prefix = "job/", .name = "anna", .security = {.token = "open sesame"}});
  ASSERT_TRUE(wait_until([&] { return master_->counts() && master_->counts()->todo == 8; }));
  seen_.cut = true;
  poll();  // nothing yet: it cannot know whether it leads
  seen_.cut = false;
  master_->go_on(0);
  const Taken held = anna.take(1);
  ASSERT_EQ(held.tasks.size(), 1U);
  ASSERT_TRUE(wait_until([&] {
    poll();
    return checkpoints_->draining();
  }));
  EXPECT_TRUE(anna.take(2, held.tasks).tasks.empty()) << "nothing new before the checkpoint";
  seen_.cut = true;
  poll();
  EXPECT_FALSE(checkpoints_->draining());
  EXPECT_FALSE(anna.take(2, held.tasks).tasks.empty());
  seen_.cut = false;
  poll();
  EXPECT_TRUE(checkpoints_->draining()) << "the next one is due";
}

}  // namespace
}  // namespace trireme::distributed
