// A checkpoint in progress when the store becomes unavailable.

#include "distributed/control/cuts.h"

#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <string>

#include "distributed/coordination/membership.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/testing/cut_store.h"
#include "distributed/master/master.h"
#include "distributed/master/task_client.h"

namespace trireme::distributed {
namespace {

class CutsOf : public ::testing::Test {
 protected:
  CutsOf() {
    members_.join("trainer", "anna", "", lease_);
    MasterOptions options;
    options.prefix = "job/";
    options.server.security.token = "open sesame";
    options.tasks = [](std::int64_t) { return std::vector<std::string>(8, "x"); };
    options.hold = true;
    options.least = Milliseconds(60000);
    master_.emplace(*store_, options);
    cuts_.emplace(seen_, *master_, CutOptions{.prefix = "job/", .folder = "none", .every = 0});
  }
  // One check of the leader, whose checkpoints wait for all pending tasks.
  void look() {
    cuts_->lead([this](const Leadership&) { master_->go_on(0); },
                [this] { cuts_->look(0, [](const QueueState&, bool) { return false; }); });
  }

  const std::unique_ptr<Store> store_ = make_memory_store();
  CutStore seen_{*store_};  // as the code that makes checkpoints sees it
  const LeaseKeeper lease_{*store_, {.seconds = 60}};
  Membership members_{*store_, "job/"};
  Network network_;
  std::optional<Master> master_;
  std::optional<Cuts> cuts_;
};

TEST_F(CutsOf, NobodyWaitsForACheckpointWhileTheStoreIsAway) {
  TaskClient anna(*store_, network_,
                  {.prefix = "job/", .name = "anna", .security = {.token = "open sesame"}});
  ASSERT_TRUE(comes_true([&] { return master_->counts() && master_->counts()->todo == 8; }));
  seen_.cut = true;
  look();  // nothing yet: it cannot know whether it leads
  seen_.cut = false;
  master_->go_on(0);
  const Taken held = anna.take(1);
  ASSERT_EQ(held.tasks.size(), 1U);
  ASSERT_TRUE(comes_true([&] {
    look();
    return cuts_->draining();
  }));
  EXPECT_TRUE(anna.take(2, held.tasks).tasks.empty()) << "nothing new before the checkpoint";
  seen_.cut = true;
  look();
  EXPECT_FALSE(cuts_->draining());
  EXPECT_FALSE(anna.take(2, held.tasks).tasks.empty());
  seen_.cut = false;
  look();
  EXPECT_TRUE(cuts_->draining()) << "the next one is due";
}

}  // namespace
}  // namespace trireme::distributed
