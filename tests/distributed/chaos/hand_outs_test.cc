#include "hand_outs.h"

#include <gtest/gtest.h>

#include "distributed/coordination/memory_store.h"
#include "distributed/master/task_queue.h"

namespace trireme::chaos {
namespace {

using namespace distributed;
using Clock = TaskQueue::Clock;

// The actions of a queue are visible by its keys alone.
class ChaosHandOuts : public ::testing::Test {
 protected:
  HandOuts seen() {
    HandOuts all("job/task/");
    for (const Event& event : watch_->wait(Milliseconds(0)).events) events_.push_back(event);
    for (const Event& event : events_) all.see(event);
    return all;
  }
  void finish_all(const std::string& owner) {
    while (const auto task = queue_.take(owner, Clock::now())) {
      EXPECT_TRUE(queue_.finish(owner, *task, Clock::now()));
    }
  }

  const std::unique_ptr<Store> store_ = make_memory_store();
  const std::unique_ptr<Watch> watch_ = store_->watch("job/task/", 1);
  TaskQueue queue_{*store_, {.prefix = "job/task/"}};
  const std::vector<std::string> tasks_ = {"a", "b", "c"};
  std::vector<Event> events_;
};

TEST_F(ChaosHandOuts, TasksThatAreHandedOutOnceAreNoneAgain) {
  queue_.begin(1, tasks_);
  finish_all("anna");
  queue_.begin(2, tasks_);
  finish_all("berta");
  EXPECT_EQ(seen().handed(), 6);
  EXPECT_EQ(seen().done(), 6);
  EXPECT_EQ(seen().again(), 0);
}

TEST_F(ChaosHandOuts, ThoseWhoseOwnerIsGoneAre) {
  queue_.begin(1, tasks_);
  queue_.take("anna", Clock::now());
  queue_.release("anna");
  finish_all("berta");
  queue_.begin(2, tasks_);
  finish_all("berta");
  EXPECT_EQ(seen().again(1, 0), 1);
  EXPECT_EQ(seen().again(1, 1), 0);
  EXPECT_EQ(seen().again(2, 0), 0);
  EXPECT_EQ(seen().done(), 6);
}

// Tasks that were done are not ended again, and all others are handed out again.
TEST_F(ChaosHandOuts, AWayBackHandsOutAgain) {
  queue_.begin(1, tasks_);
  const auto first = queue_.take("anna", Clock::now());
  ASSERT_TRUE(queue_.finish("anna", *first, Clock::now()));
  const QueueState cut = queue_.state();
  finish_all("anna");
  queue_.begin(2, tasks_);
  queue_.take("anna", Clock::now());
  queue_.restore(cut, tasks_);
  finish_all("anna");
  EXPECT_EQ(seen().again(1, 0), 0);
  EXPECT_EQ(seen().again(1, 1), 1);
  EXPECT_EQ(seen().again(1, 2), 1);
  EXPECT_EQ(seen().done(), 5);
  EXPECT_EQ(seen().failed(), 0);
}

// As a leader does that continued while the store was unavailable.
TEST_F(ChaosHandOuts, WhatIsWrittenLaterIsCountedByAttempts) {
  HandOuts all("job/task/");
  const auto see = [&](const std::string& name, const std::string& value) {
    all.see({.entry = {.key = "job/task/" + name, .value = value}});
  };
  see("epoch", "4 begun");
  see("0000000001", "t 2 0 - data");
  see("0000000001", "d 5 1 - data");
  EXPECT_EQ(all.again(4, 1), 2);
  EXPECT_EQ(all.done(), 1);
  all.lose(4, 1);  // keys never say that
  EXPECT_EQ(all.again(4, 1), 3);
  EXPECT_EQ(all.again(), 3);
}

}  // namespace
}  // namespace trireme::chaos
