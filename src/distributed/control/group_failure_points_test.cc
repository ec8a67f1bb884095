// The protocols between the leader and a group of trainers, with a store that fails before or after
// each of the operations of the leader in turn.

#include <gmock/gmock.h>

#include "base/testing/wait_until.h"
#include "distributed/checkpoint/testing/checkpoint.h"
#include "distributed/control/group_control.h"
#include "distributed/control/group_member.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/process_registry.h"
#include "distributed/coordination/testing/failing_store.h"
#include "distributed/master/task_client.h"
#include "distributed/server/testing/cluster.h"

namespace trireme::distributed {
namespace {

const std::string kPrefix = "job/";
constexpr std::int64_t kTasks = 200;

// The leader works only when the test says so. The test is the only member.
class GroupFailurePoints : public ::testing::Test {
 protected:
  GroupFailurePoints() {
    MasterOptions options;
    options.prefix = kPrefix;
    options.server.security = kTestSecurity;
    options.epochs = 100;
    options.tasks = [](std::int64_t) { return std::vector<std::string>(kTasks, "x"); };
    options.hold = true;
    options.lease = 60;
    options.min_timeout = Milliseconds(600000);
    master_.emplace(*store_, options);
    lead_anew(/*every=*/3600);
    ProcessRegistry(*store_, kPrefix).join({.name = "test", .role = "trainer"}, lease_);
    begin_group(1);
  }
  void lead_anew(double every) {
    CheckpointCoordinatorOptions options{.prefix = kPrefix, .folder = folder(), .every = every};
    options.saved = [this](std::int64_t, double, std::uint64_t) { ++saved_; };
    control_.emplace(failing_, *master_, options);
  }
  std::string folder() const { return directory_.path() + "/checkpoints"; }
  template <class Done>
  bool poll_until(const Done& done) {
    return wait_until([&] {
      control_->poll();
      member_.save_if_asked(trained_, [&] { return std::vector<std::byte>(8, std::byte{1}); });
      return done();
    });
  }
  // A group without members of an earlier one asks for its start, and gets one that agrees with the
  // queue of tasks.
  void begin_group(std::int64_t generation) {
    store_->put(founded_key(kPrefix), std::to_string(generation));
    EXPECT_TRUE(poll_until([&] { return read_start(*store_, kPrefix).generation == generation; }));
    trained_ = read_start(*store_, kPrefix).committed;
    EXPECT_TRUE(poll_until([&] { return train(); })) << "tasks are not handed out";
  }
  // Trains a task. Returns whether there was one.
  bool train() {
    const Taken taken = tasks_.take(1);
    if (taken.tasks.empty()) return false;
    EXPECT_EQ(taken.rollbacks, read_start(*store_, kPrefix).rollbacks);
    EXPECT_EQ(tasks_.finish(taken.tasks), 1);
    ++trained_;
    return true;
  }
  std::int64_t done() const {
    return static_cast<std::int64_t>(master_->state_at_rest().value().done.size());
  }

  checkpoint::MemoryDirectory directory_;
  const std::unique_ptr<Store> store_ = make_memory_store();
  FailingStore failing_{*store_};
  Network network_;
  LeaseKeeper lease_{*store_, {.seconds = 600}};
  std::optional<Master> master_;
  std::optional<GroupControl> control_;
  GroupMember member_{*store_, {.prefix = kPrefix, .name = "test", .folder = folder()}};
  TaskClient tasks_{
      *store_, network_, {.prefix = kPrefix, .name = "test", .security = kTestSecurity}};
  std::int64_t trained_ = 0;
  int saved_ = 0;
};

// As fault 13: a start whose publication was lost was never published again.
TEST_F(GroupFailurePoints, OfStarts) {
  std::int64_t generation = 1;
  enumerate_failures("starts of groups", failing_, [&] {
    begin_group(++generation);
    EXPECT_EQ(done(), trained_);
  });
}

TEST_F(GroupFailurePoints, OfCheckpoints) {
  lead_anew(/*every=*/0);
  enumerate_failures("checkpoints of groups", failing_, [&] {
    ASSERT_TRUE(poll_until([&] { return train(); }));
    const int before = saved_;
    EXPECT_TRUE(poll_until([&] { return saved_ > before; }));
    checkpoint::Catalog catalog(*store_, {.folder = folder(), .prefix = kPrefix + "checkpoint/"});
    const JobSnapshot saved = job_snapshot_of(catalog.manifest(catalog.list().at(0)).snapshot);
    EXPECT_EQ(saved.queue, master_->state_at_rest());
    EXPECT_EQ(static_cast<std::int64_t>(saved.updates), trained_);
    EXPECT_EQ(done(), trained_);
  });
}

}  // namespace
}  // namespace trireme::distributed
