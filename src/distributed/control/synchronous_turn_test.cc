// Which batch takes part in which step, and what happens to it when generations end: case by case,
// and with a model of servers, members and failures in which every batch is counted.

#include "distributed/control/synchronous_turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <random>
#include <set>
#include <utility>

namespace trireme::distributed {
namespace {

using BatchOutcome = SynchronousTurn::BatchOutcome;

JobView generation(std::uint64_t step, std::uint32_t rollbacks = 1) {
  JobView view;
  view.step = step;
  view.rollbacks = rollbacks;
  return view;
}

// In a generation whose first step, number 5, is finished.
SynchronousTurn after_first_step() {
  SynchronousTurn turn;
  EXPECT_EQ(turn.enter(generation(4), false), BatchOutcome::again);
  EXPECT_FALSE(turn.begin(5));
  EXPECT_FALSE(turn.finish());
  return turn;
}

TEST(SynchronousTurn, LearnsABatchInEachStepButTheFirst) {
  SynchronousTurn turn = after_first_step();
  for (const std::uint64_t step : {6, 7}) {
    EXPECT_TRUE(turn.wants_batch());
    turn.take(1);
    EXPECT_FALSE(turn.wants_batch());
    EXPECT_TRUE(turn.begin(step));
    EXPECT_TRUE(turn.finish());
  }
  EXPECT_FALSE(turn.begin(8)) << "there is no batch";
  EXPECT_FALSE(turn.finish());
}

// Some servers may have applied the first step without it.
TEST(SynchronousTurn, TakesNoBatchForTheFirstStep) {
  SynchronousTurn turn;
  EXPECT_FALSE(turn.wants_batch()) << "of no generation yet";
  turn.enter(generation(4), false);
  EXPECT_FALSE(turn.wants_batch());
  EXPECT_FALSE(turn.begin(5));
  EXPECT_FALSE(turn.wants_batch()) << "it is not through";
  turn.finish();
  EXPECT_TRUE(turn.wants_batch());
  turn.enter(generation(5), false);
  EXPECT_FALSE(turn.wants_batch()) << "of the next generation";
}

TEST(SynchronousTurn, ABatchThatWasBegunInTheStepTakesPartInItAgain) {
  SynchronousTurn turn = after_first_step();
  turn.take(1);
  EXPECT_TRUE(turn.begin(6));
  for (int generations = 0; generations < 3; ++generations) {
    EXPECT_EQ(turn.enter(generation(5), false), BatchOutcome::again);
    EXPECT_FALSE(turn.wants_batch());
    EXPECT_TRUE(turn.begin(6));
  }
  EXPECT_TRUE(turn.finish());
  EXPECT_TRUE(turn.wants_batch());
}

// The task was given by a leader after a rollback that this member did not know yet.
TEST(SynchronousTurn, AnyOtherBatchWaitsForTheSecondStep) {
  SynchronousTurn turn = after_first_step();
  turn.take(2);
  EXPECT_THROW(turn.begin(6), StaleGeneration);
  EXPECT_EQ(turn.enter(generation(5, 2), false), BatchOutcome::again);
  EXPECT_FALSE(turn.begin(6)) << "in the step of that number nothing of it was pushed";
  EXPECT_FALSE(turn.finish());
  EXPECT_FALSE(turn.wants_batch());
  EXPECT_TRUE(turn.begin(7));
  EXPECT_TRUE(turn.finish());
}

// The second step ends with the generation, too: in the next one it is the first.
TEST(SynchronousTurn, IsTheFirstStepUntilItIsThrough) {
  SynchronousTurn turn;
  turn.enter(generation(0), false);
  turn.take(1);
  EXPECT_FALSE(turn.begin(1));
  EXPECT_EQ(turn.enter(generation(0), false), BatchOutcome::again);
  EXPECT_FALSE(turn.begin(1));
  turn.finish();
  EXPECT_TRUE(turn.begin(2));
  EXPECT_EQ(turn.enter(generation(1), false), BatchOutcome::again);
  EXPECT_TRUE(turn.begin(2));
  EXPECT_TRUE(turn.finish());
}

TEST(SynchronousTurn, WasDoneIfAllHaveFinishedTheStep) {
  for (const std::uint64_t step : {6, 7}) {
    SynchronousTurn turn = after_first_step();
    turn.take(1);
    EXPECT_TRUE(turn.begin(6));
    EXPECT_EQ(turn.enter(generation(step), false), BatchOutcome::done);
    EXPECT_FALSE(turn.begin(step + 1)) << "the turn has it no more";
    turn.finish();
    EXPECT_TRUE(turn.wants_batch());
  }
}

TEST(SynchronousTurn, ABatchThatTookNoPartIsNotDone) {
  SynchronousTurn turn;
  turn.enter(generation(4), false);
  turn.take(1);
  EXPECT_FALSE(turn.begin(5));
  EXPECT_EQ(turn.enter(generation(5), false), BatchOutcome::again);
  EXPECT_FALSE(turn.begin(6));
  turn.finish();
  EXPECT_TRUE(turn.begin(7));
}

// The others may have taken the step alone.
TEST(SynchronousTurn, OfAMemberThatWasAwayNothingIsDone) {
  for (const std::uint64_t step : {5, 6, 9}) {
    SynchronousTurn turn = after_first_step();
    turn.take(1);
    EXPECT_TRUE(turn.begin(6));
    EXPECT_EQ(turn.enter(generation(step), true), BatchOutcome::released);
    EXPECT_FALSE(turn.begin(step + 1)) << "its batch belongs to another trainer";
    turn.finish();
    EXPECT_TRUE(turn.wants_batch());
  }
  SynchronousTurn turn = after_first_step();
  EXPECT_EQ(turn.enter(generation(5), true), BatchOutcome::released)
      << "tasks without a batch, too";
}

TEST(SynchronousTurn, WhatWasTakenBeforeTheJobWentBackIsForgotten) {
  SynchronousTurn turn = after_first_step();
  EXPECT_EQ(turn.enter(generation(0, 2), false), BatchOutcome::again) << "there is none";
  turn.finish();
  turn.take(2);
  EXPECT_TRUE(turn.begin(2));
  EXPECT_EQ(turn.enter(generation(2, 3), false), BatchOutcome::forgotten) << "whatever the step";
  EXPECT_FALSE(turn.begin(3));
  turn.finish();
  EXPECT_TRUE(turn.wants_batch());
}

// Servers apply a step once, with the pushes until then; members fail, join, and are disconnected
// for some time. Each batch is a task.
class Model {
 public:
  explicit Model(unsigned seed) : random_(seed) {
    for (int batch = 0; batch < kBatches; ++batch) todo_.push_back(batch);
    for (int i = 0; i < 3; ++i) members_.emplace_back();
    begin_generation();
  }
  void run() {
    for (int step = 0; step < 200; ++step) take_step(below(3) == 0);
    calm_ = true;  // those that are away come back
    take_step(true);
    for (int step = 0; step < 2 * kBatches; ++step) take_step(false);
    ASSERT_EQ(finished_.size(), kBatches) << "some were never learned";
    for (const Server& server : servers_) {
      for (int batch = 0; batch < kBatches; ++batch) {
        const auto found = server.counts.find(batch);
        const int count = found == server.counts.end() ? 0 : found->second;
        const bool twice = count > 1 && !again_.contains(batch);
        EXPECT_TRUE(count >= 1 && !twice)
            << "batch " << batch << " was learned " << count << " times";
      }
    }
  }

 private:
  static constexpr int kBatches = 40;
  struct Server {
    std::uint64_t step = 0;
    std::map<int, int> counts;
  };
  struct Member {
    SynchronousTurn turn;
    std::optional<int> batch;
    bool here = true, was_away = false;
  };

  int below(int max) { return static_cast<int>(random_() % static_cast<unsigned>(max)); }

  // If the generation ends, some, none or all servers have applied the step, and members get no
  // answer.
  void take_step(bool ends) {
    std::vector<int> pushed;
    for (Member& member : members_) {
      if (!member.here) continue;
      if (member.turn.wants_batch() && !todo_.empty()) {
        member.batch = std::exchange(todo_.front(), 0);
        todo_.pop_front();
        member.turn.take(1);
      }
      if (member.turn.begin(step_ + 1)) pushed.push_back(*member.batch);
    }
    const int applied = ends ? below(3) : 2;
    for (int i = 0; i < applied; ++i) apply(servers_[i], pushed);
    if (ends) {
      change_members();
      begin_generation();
      return;
    }
    ++step_;
    for (Member& member : members_) {
      if (member.here && member.turn.finish()) finish(member);
    }
  }
  void apply(Server& server, const std::vector<int>& pushed) const {
    if (server.step > step_) return;
    ++server.step;
    for (const int batch : pushed) ++server.counts[batch];
  }
  void change_members() {
    for (auto member = members_.begin(); member != members_.end();) {
      const int chance = calm_ ? 2 : below(6);
      if (member->here && chance == 0 && members_.size() > 1) {  // dies
        hand_out_again(*member);
        member = members_.erase(member);
        continue;
      }
      if (!member->here || chance == 1) {
        member->here = !member->here;
        member->was_away = true;
      }
      ++member;
    }
    if (!calm_ && members_.size() < 4 && below(2) == 0) members_.emplace_back();
  }
  void begin_generation() {
    view_.step = step_ = std::min(servers_[0].step, servers_[1].step);
    for (Member& member : members_) {
      if (!member.here) continue;
      switch (member.turn.enter(view_, std::exchange(member.was_away, false))) {
        case BatchOutcome::done: finish(member); break;
        case BatchOutcome::again: break;
        case BatchOutcome::forgotten: ADD_FAILURE() << "there was no rollback"; break;
        case BatchOutcome::released: hand_out_again(member); break;
      }
    }
  }
  void finish(Member& member) { finished_.insert(*std::exchange(member.batch, {})); }
  void hand_out_again(Member& member) {
    if (!member.batch) return;
    again_.insert(*member.batch);
    todo_.push_back(*std::exchange(member.batch, {}));
  }

  std::mt19937 random_;
  Server servers_[2];
  std::list<Member> members_;
  std::deque<int> todo_;
  std::set<int> finished_, again_;
  JobView view_ = generation(0);
  std::uint64_t step_ = 0;
  bool calm_ = false;
};

TEST(SynchronousTurn, LosesNothingWhateverHappens) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Model(seed).run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace trireme::distributed
