// The queue of tasks with a store that fails before or after each of its operations in turn. Where
// it fails, the leader continues and writes its changes later, or the next leader reads the queue.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/testing/failing_store.h"
#include "distributed/master/task_queue.h"

namespace trireme::distributed {
namespace {

constexpr std::int64_t kTasks = 6, kEpochs = 2;

std::vector<std::string> tasks() { return std::vector<std::string>(kTasks, "part"); }

class QueueFailurePoints : public ::testing::Test {
 protected:
  // The leader tries until the store answers.
  template <class Call>
  static void retried(const Call& call) {
    for (int i = 0; i < 3; ++i) {
      try {
        return call();
      } catch (const Unavailable&) {  // the store fails once only
      }
    }
    ADD_FAILURE() << "one failure of the store is not overcome";
  }
  void open() {
    retried(
        [&] { queue_.emplace(failing_, TaskQueueOptions{.prefix = "job/task/", .poison = 3}); });
  }
  // What a leader does at each look.
  void look() {
    if (!queue_->away()) return;
    EXPECT_TRUE(queue_->come_back()) << "the store fails once only";
  }
  void finish(const std::string& owner, const Task& task) {
    if (!queue_->finish(owner, task, now_)) return;
    ++finished_[{task.epoch, task.id}];
    // A change that the store has is there for the next leader.
    if (queue_->away()) return;
    TaskQueue next(*store_, {.prefix = "job/task/"});
    const std::vector<std::int64_t> done = next.state().done;
    EXPECT_TRUE(next.epoch() == task.epoch &&
                std::find(done.begin(), done.end(), task.id) != done.end());
  }
  // Two trainers take all tasks of all epochs; some tasks end badly, or their owner is lost.
  void run() {
    finished_.clear();
    store_->commit({.then = {Erase{"job/task/", true}}});
    open();
    for (std::int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
      queue_->begin(epoch, tasks());
      look();
      for (int turn = 0; !queue_->finished() && turn < 100; ++turn) take_turn(turn);
      EXPECT_TRUE(queue_->finished());
    }
    EXPECT_EQ(finished_.size(), static_cast<std::size_t>(kTasks * kEpochs));
    for (const auto& [task, count] : finished_) EXPECT_EQ(count, 1) << task.second;
    look();
    EXPECT_EQ(TaskQueue(*store_, {.prefix = "job/task/"}).state(), queue_->state());
  }
  void take_turn(int turn) {
    const std::string owner = turn % 2 == 0 ? "anna" : "berta";
    const std::optional<Task> task = queue_->take(owner, now_);
    look();
    if (!task) return;
    switch (turn % 4) {
      case 1: queue_->give_back(owner, *task, "bad", false); break;
      case 2: queue_->lose({owner, "carla"}); break;
      default: finish(owner, *task);
    }
    if (replaced_) {
      look();
      open();
    }
    look();
  }

  const std::unique_ptr<Store> store_ = make_memory_store();
  FailingStore failing_{*store_};
  std::optional<TaskQueue> queue_;
  std::map<std::pair<std::int64_t, std::int64_t>, int> finished_;
  const TaskQueue::Clock::time_point now_{};
  bool replaced_ = false;  // whether another leader reads the queue after each turn
};

TEST_F(QueueFailurePoints, OfOneLeader) {
  enumerate_failures("the queue of tasks", failing_, [&] { run(); });
}

TEST_F(QueueFailurePoints, OfLeadersThatReplaceEachOther) {
  replaced_ = true;
  enumerate_failures("queues of new leaders", failing_, [&] { run(); });
}

// A rollback is repeated until the store has it.
TEST_F(QueueFailurePoints, OfARestoredQueue) {
  enumerate_failures("a restored queue", failing_, [&] {
    store_->commit({.then = {Erase{"job/task/", true}}});
    open();
    retried([&] {
      look();
      queue_->restore({2, {0, 3}, {4}}, tasks());
    });
    look();
    const QueueState wanted{2, {0, 3}, {4}};
    EXPECT_EQ(queue_->state(), wanted);
    EXPECT_EQ(TaskQueue(*store_, {.prefix = "job/task/"}).state(), wanted);
  });
}

}  // namespace
}  // namespace trireme::distributed
