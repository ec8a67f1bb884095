#include "distributed/master/task_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error_test.h"
#include "distributed/coordination/memory_store.h"

namespace trireme::distributed {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class TaskQueues : public ::testing::Test {
 protected:
  TaskQueue queue(std::optional<Condition> guard = {}) {
    return {*store_,
            {.prefix = "job/task/", .guard = std::move(guard), .least = Milliseconds(1000)}};
  }
  static std::vector<std::string> tasks(int count) {
    std::vector<std::string> result;
    for (int i = 0; i < count; ++i) result.push_back("part " + std::to_string(i));
    return result;
  }

  std::unique_ptr<Store> store_ = make_memory_store();
  const TaskQueue::Clock::time_point start_{};
};

TEST_F(TaskQueues, ATaskIsTakenAndFinished) {
  TaskQueue q = queue();
  EXPECT_FALSE(q.take("a", start_));
  EXPECT_FALSE(q.finished());
  q.begin(1, tasks(2));
  const Task first = q.take("a", start_).value(), second = q.take("b", start_).value();
  EXPECT_EQ(first.data, "part 0");
  EXPECT_EQ(second.data, "part 1");
  EXPECT_FALSE(q.take("a", start_));
  EXPECT_TRUE(q.finish("a", first, start_));
  EXPECT_FALSE(q.finish("a", first, start_));   // once
  EXPECT_FALSE(q.finish("a", second, start_));  // it is b's
  EXPECT_FALSE(q.finished());
  EXPECT_TRUE(q.finish("b", second, start_));
  EXPECT_TRUE(q.finished());
  EXPECT_EQ(q.counts().done, 2);
  EXPECT_EQ(q.counts().refused, 2);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { q.begin(3, tasks(1)); }), HasSubstr("epoch 3"));
  q.begin(2, tasks(1));
  EXPECT_EQ(q.counts().todo, 1);
  EXPECT_FALSE(q.finish("a", first, start_));  // of the epoch before
  // Nor when the same owner has the same task again.
  const Task again = q.take("a", start_).value();
  EXPECT_EQ(again.data, first.data);
  EXPECT_FALSE(again.again);
  EXPECT_FALSE(q.finish("a", first, start_));
  EXPECT_FALSE(q.give_back("a", first, "late"));
  EXPECT_TRUE(q.finish("a", again, start_));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { q.take("two words", start_); }),
              HasSubstr("spaces"));
}

TEST_F(TaskQueues, WhoIsTooSlowOwnsItNoMore) {
  TaskQueue q = queue();
  q.begin(1, tasks(1));
  const Task slow = q.take("slow", start_).value();
  EXPECT_EQ(q.expire(start_ + Milliseconds(900)), 0);
  EXPECT_EQ(q.expire(start_ + Milliseconds(1000)), 1);
  const Task again = q.take("slow", start_ + seconds(2)).value();
  EXPECT_EQ(again.attempt, 2);
  EXPECT_FALSE(q.finish("slow", slow, start_ + seconds(2)));  // the same owner, an attempt before
  EXPECT_TRUE(q.finish("slow", again, start_ + seconds(2)));
}

// It is not lost, nor a task for longer tasks than anybody knew of.
TEST_F(TaskQueues, WhoIsSlowMayStillEndWhatNobodyElseHasGot) {
  TaskQueue q = queue();
  q.begin(1, tasks(2));
  const Task first = q.take("slow", start_).value(), second = q.take("slow", start_).value();
  EXPECT_EQ(q.expire(start_ + seconds(1)), 2);
  EXPECT_TRUE(q.bad().empty()) << "it is not known yet what tasks take";
  const Task taken = q.take("quick", start_ + seconds(2)).value();
  EXPECT_EQ(taken.id, first.id);
  EXPECT_FALSE(q.finish("slow", first, start_ + seconds(20)));
  EXPECT_EQ(q.patience(), seconds(100)) << "but known now";
  EXPECT_TRUE(q.finish("slow", second, start_ + seconds(40)));
  EXPECT_EQ(q.expire(start_ + seconds(60)), 0);
  EXPECT_TRUE(q.finish("quick", taken, start_ + seconds(60)));
  EXPECT_TRUE(q.finished());
}

TEST_F(TaskQueues, TheFirstTaskOfWhoeverTakesFarTooLongIsToBlame) {
  TaskQueue q = queue();
  q.begin(1, tasks(3));
  EXPECT_TRUE(q.finish("a", q.take("a", start_).value(), start_ + Milliseconds(100)));
  q.take("a", start_);
  q.take("a", start_);
  EXPECT_EQ(q.expire(start_ + seconds(1)), 2);
  ASSERT_EQ(q.bad().size(), 1u);
  EXPECT_EQ(text_of(q.bad()[0]), "task 1 of epoch 1: ended badly once: a took longer than 1 s");
  EXPECT_EQ(q.bad()[0].deaths, 0);
}

TEST_F(TaskQueues, PatienceFollowsWhatTasksTake) {
  TaskQueue q = queue();
  q.begin(1, tasks(3));
  EXPECT_EQ(q.patience(), Milliseconds(1000));
  const Task task = q.take("a", start_).value();
  q.finish("a", task, start_ + seconds(2));
  EXPECT_EQ(q.patience(), Milliseconds(10000));
}

TEST_F(TaskQueues, PoisonFails) {
  TaskQueue q = queue();
  q.begin(1, tasks(1));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(q.finished());
    EXPECT_TRUE(q.give_back("a", q.take("a", start_).value(), "damage " + std::to_string(i / 2) + "\nhint"));
  }
  EXPECT_TRUE(q.finished());
  EXPECT_EQ(q.counts().failed, 1);
  EXPECT_EQ(q.counts().left_out, 1);
  EXPECT_EQ(q.counts().bad_ends, 3);
  ASSERT_EQ(q.bad().size(), 1u);
  EXPECT_EQ(text_of(q.bad()[0]),
            "task 0 of epoch 1: ended badly 3 times: damage 0; damage 1");
  // In later epochs it may be another one; the next leader, and whoever asks, know of this one still.
  q.begin(2, tasks(1));
  EXPECT_TRUE(q.finish("a", q.take("a", start_).value(), start_));
  EXPECT_EQ(queue().counts().left_out, 1);
  EXPECT_EQ(bad_tasks(*store_, "job/task/").size(), 1u);
}

// Whoever dies worked on the first task that it had.
TEST_F(TaskQueues, AnOwnerThatDiesIsTheFaultOfItsFirstTask) {
  TaskQueue before = queue();
  before.begin(1, tasks(4));
  const Task begun = before.take("b", start_).value();
  for (int i = 1; i < 4; ++i) before.take("a", start_);
  // Handed out later, though its number is lower.
  EXPECT_EQ(before.release("b"), 1);
  EXPECT_EQ(before.take("a", start_)->id, begun.id);
  TaskQueue q = queue();  // the next leader's
  EXPECT_EQ(q.lose("a"), 4);
  ASSERT_EQ(q.bad().size(), 1u);
  EXPECT_EQ(q.bad()[0].id, 1);
  EXPECT_EQ(q.bad()[0].deaths, 1);
  EXPECT_FALSE(q.bad()[0].failed);
  EXPECT_EQ(q.counts().begun, 4);
  // What is done is not bad any more.
  const Task first = q.take("c", start_).value(), second = q.take("c", start_).value();
  EXPECT_TRUE(second.again);
  EXPECT_EQ(second.id, 1);
  EXPECT_TRUE(q.finish("c", first, start_));
  EXPECT_TRUE(q.finish("c", second, start_));
  EXPECT_TRUE(q.bad().empty());
  EXPECT_TRUE(bad_tasks(*store_, "job/task/").empty());
}

TEST_F(TaskQueues, WhoLeavesIsNoTasksFault) {
  TaskQueue q = queue();
  q.begin(1, tasks(1));
  for (int i = 0; i < 5; ++i) {
    q.take("a", start_);
    EXPECT_EQ(q.release("a"), 1);
  }
  EXPECT_TRUE(q.bad().empty());
  EXPECT_EQ(q.counts().todo, 1);
}

// Else one that ends all who have learned would be tried for ever.
TEST_F(TaskQueues, PoisonIsKnownWhenTheQueueIsPutBack) {
  TaskQueue q = queue();
  q.begin(1, tasks(3));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(q.take("a", start_)->id, 0);
    q.lose("a");
    q.restore({1, {}, {}}, tasks(3));
    EXPECT_EQ(q.counts().begun, 0);
  }
  q.take("a", start_);
  q.lose("a");
  EXPECT_EQ(q.counts().failed, 1);
  q.restore({1, {1}, {}}, tasks(3));
  EXPECT_EQ(q.counts().failed, 1);
  EXPECT_EQ(q.state(), (QueueState{1, {1}, {0}}));
  EXPECT_EQ(q.take("a", start_)->id, 2);
}

// By another run, whose keys are gone.
TEST_F(TaskQueues, WhatHasFailedBeforeAResumeIsTold) {
  TaskQueue q = queue();
  q.restore({2, {0}, {1}}, tasks(3));
  EXPECT_EQ(q.counts().failed, 1);
  ASSERT_EQ(q.bad().size(), 1u);
  EXPECT_EQ(text_of(q.bad()[0]),
            "task 1 of epoch 2: ended badly once: before the job was resumed");
}

TEST_F(TaskQueues, WhatOneWhoIsGoneHeldIsHandedOutAgain) {
  TaskQueue q = queue();
  q.begin(1, tasks(3));
  const Task a = q.take("a", start_).value();
  q.take("b", start_);
  q.take("a", start_);
  EXPECT_EQ(q.release("a"), 2);
  EXPECT_FALSE(q.finish("a", a, start_));
  EXPECT_EQ(q.take("c", start_)->id, 0);
  EXPECT_EQ(q.counts().pending, 2);
}

// Of what somebody has had, a part may have been learned: until it is done, no checkpoint can be without a part of it.
TEST_F(TaskQueues, WhatIsBegunComesFirstAndIsKnown) {
  TaskQueue q = queue();
  q.begin(1, tasks(3));
  q.take("a", start_);
  const Task b = q.take("b", start_).value();
  EXPECT_FALSE(q.take("c", start_, TaskQueue::Which::begun).has_value());
  EXPECT_TRUE(q.give_back("b", b, "why"));
  EXPECT_EQ(q.counts().begun, 1);
  EXPECT_EQ(queue().counts().begun, 1) << "the next leader knows it, too";
  q.release("a");
  EXPECT_EQ(q.counts().begun, 2);
  EXPECT_EQ(q.counts().todo, 3);
  EXPECT_EQ(q.take("c", start_)->id, 0);
  EXPECT_EQ(q.take("c", start_, TaskQueue::Which::begun)->id, 1);
  EXPECT_FALSE(q.take("c", start_, TaskQueue::Which::begun).has_value());
  EXPECT_EQ(q.take("c", start_)->id, 2);
  q.restore({1, {2}, {}}, tasks(3));
  EXPECT_EQ(q.counts().begun, 0) << "what was learned of it is forgotten";
}

// As ranges, in whatever order they end.
TEST_F(TaskQueues, KnowsWhichHaveEnded) {
  constexpr int kTasks = 200;
  std::mt19937 random(3);
  TaskQueue q = queue();
  q.begin(1, tasks(kTasks));
  EXPECT_TRUE(q.ended().empty());
  std::vector<Task> held;
  while (const auto task = q.take("a", start_)) held.push_back(*task);
  std::shuffle(held.begin(), held.end(), random);
  std::set<std::int64_t> ended;
  for (const Task& task : held) {
    if (random() % 10 == 0) {
      for (Task bad = task; q.give_back("a", bad, "damage");) {
        if (const auto again = q.take("a", start_)) bad = *again;
      }
    } else {
      q.finish("a", task, start_);
    }
    ended.insert(task.id);
    std::vector<std::pair<std::int64_t, std::int64_t>> expected;
    for (const std::int64_t id : ended) {
      if (!expected.empty() && expected.back().second == id) ++expected.back().second;
      else expected.emplace_back(id, id + 1);
    }
    ASSERT_EQ(q.ended(), expected);
  }
  EXPECT_EQ(q.ended().size(), 1u);
  EXPECT_EQ(queue().ended(), q.ended());
  q.begin(2, tasks(kTasks));
  EXPECT_TRUE(q.ended().empty());
}

TEST_F(TaskQueues, TheNextLeaderGoesOn) {
  store_->put("leader", "first");
  TaskQueue first = queue(is_value("leader", "first"));
  first.begin(1, tasks(3));
  const Task done = first.take("a", start_).value(), held = first.take("b", start_).value();
  first.finish("a", done, start_);

  store_->put("leader", "second");
  TaskQueue second = queue(is_value("leader", "second"));
  EXPECT_EQ(second.epoch(), 1);
  // The one before changes nothing any more, and may not say that it did.
  EXPECT_NE(error_of(ErrorKind::usage, [&] { first.take("c", start_); }), "");
  EXPECT_NE(error_of(ErrorKind::usage, [&] { first.finish("b", held, start_); }), "");
  EXPECT_TRUE(second.finish("b", held, start_));
  const Task last = second.take("a", start_).value();
  EXPECT_EQ(last.id, 2);
  EXPECT_TRUE(second.finish("a", last, start_));
  EXPECT_TRUE(second.finished());
}

// A store whose answers are lost now and then, the change having happened or not.
class LossyStore : public Store {
 public:
  LossyStore(Store& store, unsigned seed) : store_(store), random_(seed) {}
  Outcome commit(const Transaction& transaction) override {
    const unsigned dice = random_() % 10;
    if (dice == 0) throw Unavailable("the question was lost");
    Outcome outcome = store_.commit(transaction);
    if (dice == 1) throw Unavailable("the answer was lost");
    return outcome;
  }
  std::int64_t grant(std::int64_t seconds) override { return store_.grant(seconds); }
  bool keep_alive(std::int64_t lease) override { return store_.keep_alive(lease); }
  void revoke(std::int64_t lease) override { store_.revoke(lease); }
  std::unique_ptr<Watch> watch(const std::string& prefix, std::int64_t from) override {
    return store_.watch(prefix, from);
  }

 private:
  Store& store_;
  std::mt19937 random_;
};

// Random owners, losses, delays and changes of the leader: every task is done once, by one owner.
TEST_F(TaskQueues, EveryTaskIsDoneOnceWhateverHappens) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::string prefix = "run" + std::to_string(seed) + "/";
    LossyStore lossy(*store_, seed);
    std::mt19937 random(100 + seed);
    TaskQueueOptions options{.prefix = prefix, .poison = 1000, .least = Milliseconds(50)};
    std::optional<TaskQueue> q;
    const auto again = [&](const auto& body) {  // as callers do
      for (;;) {
        try {
          if (!q) q.emplace(lossy, options);
          return body();
        } catch (const Unavailable&) {
        }
      }
    };
    again([&] {
      q->begin(1, tasks(12));
      return true;
    });
    std::map<std::string, std::vector<Task>> held;
    std::map<std::int64_t, int> finished;
    auto now = start_;
    for (int step = 0; !again([&] { return q->finished(); }); ++step) {
      ASSERT_LT(step, 20000);
      now += Milliseconds(random() % 20);
      const std::string owner = "owner" + std::to_string(random() % 3);
      const unsigned dice = random() % 20;
      if (dice == 0) q.reset();  // another leader
      if (dice == 1) again([&] { return q->release(owner); });
      if (dice == 2) again([&] { return q->expire(now); });
      if (dice < 10) {
        const auto task = again([&] { return q->take(owner, now); });
        if (task) held[owner].push_back(*task);
      } else if (!held[owner].empty()) {
        const std::size_t i = random() % held[owner].size();
        const Task task = held[owner][i];
        // An answer that was lost is asked for again: "no" may then mean that it was done before.
        bool lost = false, yes = false;
        for (bool answered = false; !answered;) {
          try {
            if (!q) q.emplace(lossy, options);
            yes = q->finish(owner, task, now);
            answered = true;
          } catch (const Unavailable&) {
            lost = true;
          }
        }
        if (yes && !lost) ++finished[task.id];
        held[owner].erase(held[owner].begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    EXPECT_EQ(again([&] { return q->counts().done; }), 12);
    for (const auto& [id, times] : finished) EXPECT_EQ(times, 1) << id;
  }
}

TEST_F(TaskQueues, AnEpochWhoseTasksWereNotAllWrittenHasNotBegun) {
  queue().begin(1, tasks(2));
  store_->put("job/task/epoch", "2 beginning 7");
  store_->put("job/task/0000000000", "t 0 0 - new");
  TaskQueue q = queue();
  EXPECT_EQ(q.epoch(), 1);
  EXPECT_FALSE(q.take("a", start_));
  q.begin(2, tasks(3));
  EXPECT_EQ(q.counts().todo, 3);
  EXPECT_EQ(q.take("a", start_)->attempt, 8) << "behind all of before";
}

TEST_F(TaskQueues, SaysThatAKeyHoldsNoTask) {
  for (const char* text : {"", "x 1 0 - a", "t one 0 - a", "t 1", "t -1 0 - a"}) {
    store_->put("job/task/0000000000", text);
    EXPECT_THAT(error_of(ErrorKind::data, [&] { queue(); }), HasSubstr("job/task/0000000000"));
  }
}

}  // namespace
}  // namespace trireme::distributed
