#include "distributed/master/task_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/testing/error.h"
#include "distributed/coordination/election.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/coordination/testing/cut_store.h"

namespace trireme::distributed {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class TaskQueues : public ::testing::Test {
 protected:
  TaskQueue queue(std::optional<Condition> guard = {}) {
    return {*store_,
            {.prefix = "job/task/", .guard = std::move(guard), .min_timeout = Milliseconds(1000)}};
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

// It is not lost, nor is a task of unexpected length.
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

TEST_F(TaskQueues, TheFirstTaskOfWhoeverTakesFarTooLongIsToBlameIfOthersGoOn) {
  TaskQueue q = queue();
  q.begin(1, tasks(4));
  for (int i = 0; i < 2; ++i) q.take("a", start_);
  EXPECT_TRUE(q.finish("b", q.take("b", start_).value(), start_ + Milliseconds(800)));
  EXPECT_EQ(q.patience(), Milliseconds(4000));
  EXPECT_EQ(q.expire(start_ + seconds(4)), 2);
  EXPECT_TRUE(q.bad().empty()) << "no owner made progress recently";
  for (int i = 0; i < 2; ++i) q.take("a", start_ + seconds(4));
  const Task other = q.take("b", start_ + seconds(7)).value();
  EXPECT_TRUE(q.finish("b", other, start_ + Milliseconds(7500)));
  EXPECT_EQ(q.expire(start_ + seconds(8)), 2);
  ASSERT_EQ(q.bad().size(), 1u);
  EXPECT_EQ(text_of(q.bad()[0]), "task 0 of epoch 1: ended badly once: a took longer than 4 s");
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
    EXPECT_TRUE(q.give_back("a", q.take("a", start_).value(),
                            "damage " + std::to_string(i / 2) + "\nhint"));
  }
  EXPECT_TRUE(q.finished());
  EXPECT_EQ(q.counts().failed, 1);
  EXPECT_EQ(q.counts().left_out, 1);
  EXPECT_EQ(q.counts().bad_ends, 3);
  ASSERT_EQ(q.bad().size(), 1u);
  EXPECT_EQ(text_of(q.bad()[0]), "task 0 of epoch 1: ended badly 3 times: damage 0; damage 1");
  // In later epochs the task may differ; the next leader, and requests, still know of this one.
  q.begin(2, tasks(1));
  EXPECT_TRUE(q.finish("a", q.take("a", start_).value(), start_));
  EXPECT_EQ(queue().counts().left_out, 1);
  EXPECT_EQ(bad_tasks(*store_, "job/task/").size(), 1u);
}

// An owner that fails was working on its first task.
TEST_F(TaskQueues, AnOwnerThatDiesIsTheFaultOfItsFirstTask) {
  TaskQueue before = queue();
  before.begin(1, tasks(4));
  const Task begun = before.take("b", start_).value();
  for (int i = 1; i < 4; ++i) before.take("a", start_);
  // Handed out later, although its number is lower.
  EXPECT_EQ(before.release("b"), 1);
  EXPECT_EQ(before.take("a", start_)->id, begun.id);
  TaskQueue q = queue();  // the next leader's
  EXPECT_EQ(q.lose({"a"}), 4);
  ASSERT_EQ(q.bad().size(), 1u);
  EXPECT_EQ(q.bad()[0].id, 1);
  EXPECT_EQ(q.bad()[0].deaths, 1);
  EXPECT_FALSE(q.bad()[0].failed);
  EXPECT_EQ(q.counts().begun, 4);
  // A completed task is not bad any more.
  const Task first = q.take("c", start_).value(), second = q.take("c", start_).value();
  EXPECT_TRUE(second.again);
  EXPECT_EQ(second.id, 1);
  EXPECT_TRUE(q.finish("c", first, start_));
  EXPECT_TRUE(q.finish("c", second, start_));
  EXPECT_TRUE(q.bad().empty());
  EXPECT_TRUE(bad_tasks(*store_, "job/task/").empty());
}

// For example, a machine fails, or all processes of a job are preempted, however often.
TEST_F(TaskQueues, OwnersThatDieTogetherAreNoTasksFault) {
  TaskQueue q = queue();
  q.begin(1, tasks(3));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(q.take("a", start_)->id, 0);
    EXPECT_EQ(q.take("b", start_)->id, 1);
    q.take("b", start_);
    EXPECT_EQ(q.lose({"a", "b"}), 3);
    EXPECT_EQ(q.counts().begun, 3);
  }
  EXPECT_TRUE(q.bad().empty());
  q.take("a", start_);
  EXPECT_EQ(q.lose({"a"}), 1);
  EXPECT_EQ(q.bad().size(), 1u) << "who dies alone";
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

// Otherwise a task that ends every trainer would be tried forever.
TEST_F(TaskQueues, PoisonIsKnownWhenTheQueueIsPutBack) {
  TaskQueue q = queue();
  q.begin(1, tasks(3));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(q.take("a", start_)->id, 0);
    q.lose({"a"});
    q.restore({1, {}, {}}, tasks(3));
    EXPECT_EQ(q.counts().begun, 0);
  }
  q.take("a", start_);
  q.lose({"a"});
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
  EXPECT_EQ(text_of(q.bad()[0]), "task 1 of epoch 2: ended badly once: before the job was resumed");
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

// A task that was handed out may be partly trained: no checkpoint can be without that part until
// the task is done.
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

// As ranges, in any order of completion.
TEST_F(TaskQueues, KnowsWhichAreDone) {
  constexpr int kTasks = 200;
  std::mt19937 random(3);
  TaskQueue q = queue();
  q.begin(1, tasks(kTasks));
  EXPECT_TRUE(q.done().empty());
  std::vector<Task> held;
  while (const auto task = q.take("a", start_)) held.push_back(*task);
  std::shuffle(held.begin(), held.end(), random);
  std::set<std::int64_t> done;
  for (const Task& task : held) {
    if (task.id % 50 == 7) continue;
    q.finish("a", task, start_);
    done.insert(task.id);
    std::vector<std::pair<std::int64_t, std::int64_t>> expected;
    for (const std::int64_t id : done) {
      if (!expected.empty() && expected.back().second == id) ++expected.back().second;
      else expected.emplace_back(id, id + 1);
    }
    ASSERT_EQ(q.done(), expected);
  }
  EXPECT_EQ(q.done().size(), 5u);
  EXPECT_EQ(queue().done(), q.done());
  q.restore({1, {3, 4, 9}, {6}}, tasks(kTasks));
  EXPECT_THAT(q.done(), ::testing::ElementsAre(std::pair(3, 5), std::pair(9, 10)));
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
  // The previous leader cannot change anything any more, and must not say that it did.
  EXPECT_THROW(first.take("c", start_), Deposed);
  EXPECT_THROW(first.finish("b", held, start_), Deposed);
  EXPECT_TRUE(second.finish("b", held, start_));
  const Task last = second.take("a", start_).value();
  EXPECT_EQ(last.id, 2);
  EXPECT_TRUE(second.finish("a", last, start_));
  EXPECT_TRUE(second.finished());
}

// A store that sometimes loses answers, after or before the change.
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
// Ends while the store was unavailable count when they are written; if this leader fails before,
// they are reported to the next one.
TEST_F(TaskQueues, EveryTaskIsDoneOnceWhateverHappens) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::string prefix = "run" + std::to_string(seed) + "/";
    LossyStore lossy(*store_, seed);
    std::mt19937 random(100 + seed);
    TaskQueueOptions options{.prefix = prefix, .poison = 1000, .min_timeout = Milliseconds(50)};
    std::optional<TaskQueue> q;
    struct Held {
      std::string owner;
      Task task;
    };
    std::vector<Held> held, ended;  // ended: on trust
    std::map<std::int64_t, int> finished;
    auto now = start_;
    const auto finish = [&](const Held& one) {
      if (!q->finish(one.owner, one.task, now)) return;
      if (q->away()) ended.push_back(one);
      else ++finished[one.task.id];
    };
    const auto lead = [&] {
      while (!q) {
        try {
          q.emplace(lossy, options);
        } catch (const Unavailable&) {
        }
      }
      for (const Held& one : std::exchange(ended, {})) finish(one);
      q->begin(1, tasks(12));
    };
    lead();
    for (int step = 0; !q->finished() || q->away(); ++step) {
      ASSERT_LT(step, 20000);
      now += Milliseconds(random() % 20);
      const std::string owner = "owner" + std::to_string(random() % 3);
      const unsigned dice = random() % 20;
      if (dice == 0) q.reset();  // another leader
      if (!q) lead();
      if (dice % 2 == 0 && q->away() && q->come_back()) {
        for (const Held& one : std::exchange(ended, {})) ++finished[one.task.id];
      }
      if (dice == 1) q->release(owner);
      if (dice == 2) q->expire(now);
      if (dice < 10) {
        const auto task = q->take(owner, now);
        if (task) held.push_back({owner, *task});
      } else if (!held.empty()) {
        const std::size_t i = random() % held.size();
        finish(held[i]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    EXPECT_EQ(q->counts().done, 12);
    EXPECT_EQ(TaskQueue(*store_, options).counts().done, 12) << "in the store, too";
    // A change whose answer was lost with the leader may have happened; then no trainer knows of
    // it.
    for (const auto& [id, times] : finished) EXPECT_EQ(times, 1) << id;
  }
}

// --- While the store is unavailable

class AwayQueues : public TaskQueues {
 protected:
  TaskQueue queue_of_leader() {
    store_->put("leader", "first");
    return {cut_,
            {.prefix = "job/task/",
             .guard = is_value("leader", "first"),
             .min_timeout = Milliseconds(1000)}};
  }
  CutStore cut_{*store_};
};

TEST_F(AwayQueues, WorkGoesOnAndIsWrittenLater) {
  TaskQueue q = queue_of_leader();
  q.begin(1, tasks(6));
  const Task before = q.take("a", start_).value();
  cut_.cut = true;
  const Task meanwhile = q.take("a", start_).value();
  EXPECT_TRUE(q.away());
  EXPECT_TRUE(q.finish("a", before, start_));
  EXPECT_TRUE(q.finish("a", meanwhile, start_));
  EXPECT_FALSE(q.finish("a", meanwhile, start_)) << "once";
  const Task held = q.take("b", start_).value(), bad = q.take("b", start_).value();
  EXPECT_TRUE(q.give_back("b", bad, "damage"));
  EXPECT_FALSE(q.come_back());
  EXPECT_EQ(queue().counts().done, 0) << "nothing is written";
  cut_.cut = false;
  EXPECT_TRUE(q.come_back());
  EXPECT_FALSE(q.away());

  TaskQueue next = queue();
  const TaskCounts counts = next.counts();
  EXPECT_EQ(counts.done, 2);
  EXPECT_EQ(counts.pending, 1);
  EXPECT_EQ(counts.begun, 1);
  ASSERT_EQ(next.bad().size(), 1u);
  EXPECT_EQ(next.bad()[0].id, bad.id);
  EXPECT_TRUE(next.finish("b", held, start_));
  EXPECT_EQ(next.take("c", start_)->attempt, 2);
}

TEST_F(AwayQueues, EpochsFollowEachOther) {
  TaskQueue q = queue_of_leader();
  q.begin(1, tasks(2));
  const Task first = q.take("a", start_).value(), second = q.take("a", start_).value();
  cut_.cut = true;
  EXPECT_TRUE(q.finish("a", first, start_));
  EXPECT_TRUE(q.finish("a", second, start_));
  EXPECT_TRUE(q.finished());
  q.begin(2, tasks(300));
  EXPECT_TRUE(q.finish("a", q.take("a", start_).value(), start_));
  const Task held = q.take("a", start_).value();
  EXPECT_EQ(queue().epoch(), 1);
  cut_.cut = false;
  EXPECT_TRUE(q.come_back());
  TaskQueue next = queue();
  EXPECT_EQ(next.epoch(), 2);
  EXPECT_EQ(next.counts().done, 1);
  EXPECT_EQ(next.counts().todo, 298);
  EXPECT_TRUE(next.finish("a", held, start_));
}

// For an epoch that has ended when the store answers again: which tasks were left out, and that
// another task was completed after all.
TEST_F(AwayQueues, HowTasksEndedBadlyIsWrittenLaterToo) {
  TaskQueue q = queue_of_leader();
  q.begin(1, tasks(2));
  const Task well = q.take("a", start_).value();
  EXPECT_TRUE(q.give_back("a", well, "by mistake"));
  EXPECT_EQ(bad_tasks(*store_, "job/task/").size(), 1u);
  cut_.cut = true;
  EXPECT_TRUE(q.finish("a", q.take("a", start_).value(), start_));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(q.give_back("a", q.take("a", start_).value(), "damage"));
  EXPECT_TRUE(q.finished());
  q.begin(2, tasks(2));
  cut_.cut = false;
  EXPECT_TRUE(q.come_back());
  const std::vector<BadTask> bad = bad_tasks(*store_, "job/task/");
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(text_of(bad[0]), "task 1 of epoch 1: ended badly 3 times: damage");
  EXPECT_EQ(queue().epoch(), 2);
  EXPECT_EQ(queue().counts().left_out, 1);
}

// The same task of the previous epoch has the same number and data.
TEST_F(AwayQueues, AnEndOfTheEpochBeforeEndsNothing) {
  TaskQueue q = queue_of_leader();
  q.begin(1, tasks(1));
  const Task before = q.take("a", start_).value();
  EXPECT_TRUE(q.finish("a", before, start_));
  q.begin(2, tasks(1));
  const Task now = q.take("a", start_).value();
  EXPECT_GT(now.attempt, before.attempt);
  EXPECT_FALSE(q.finish("a", before, start_));
  Task late = now;
  late.epoch = 1;
  EXPECT_FALSE(q.finish("a", late, start_));
  EXPECT_TRUE(q.finish("a", now, start_));
}

TEST_F(AwayQueues, WhatWasDoneOnTrustIsVoidIfAnotherLeaderFollows) {
  TaskQueue q = queue_of_leader();
  q.begin(1, tasks(2));
  cut_.cut = true;
  const Task task = q.take("a", start_).value();
  EXPECT_TRUE(q.finish("a", task, start_));
  store_->put("leader", "second");
  TaskQueue second = queue(is_value("leader", "second"));
  EXPECT_EQ(second.take("b", start_)->id, task.id);
  cut_.cut = false;
  EXPECT_THROW(q.come_back(), Deposed);
  EXPECT_EQ(queue().counts().pending, 1) << "it is b's";
  EXPECT_FALSE(second.finish("a", task, start_));
}

// Although it has nothing to write.
TEST_F(AwayQueues, ALeaderThatIsBackLearnsThatItWasFollowed) {
  TaskQueue q = queue_of_leader();
  q.begin(1, tasks(1));
  q.go_away();
  store_->put("leader", "second");
  EXPECT_THROW(q.come_back(), Deposed);
}

// A request that timed out and reaches the store after the answer to a later one.
class LateStore : public CutStore {
 public:
  using CutStore::CutStore;
  std::optional<Transaction> late;
  bool keep = false;
  Outcome commit(const Transaction& t) override {
    if (!keep) return CutStore::commit(t);
    keep = false;
    late = t;
    throw Unavailable("no answer in time");
  }
};

TEST_F(AwayQueues, AQuestionThatArrivesLateChangesNothing) {
  LateStore late(*store_);
  TaskQueue q(late, {.prefix = "job/task/", .min_timeout = Milliseconds(1000)});
  q.begin(1, tasks(2));
  late.keep = true;
  const Task task = q.take("a", start_).value();
  EXPECT_TRUE(q.finish("a", task, start_));
  EXPECT_TRUE(q.come_back());
  EXPECT_FALSE(store_->commit(*late.late).succeeded);
  EXPECT_EQ(queue().counts().done, 1);

  EXPECT_TRUE(q.finish("a", q.take("a", start_).value(), start_));
  late.keep = true;
  q.begin(2, tasks(3));
  EXPECT_TRUE(q.come_back());
  EXPECT_FALSE(store_->commit(*late.late).succeeded);
  EXPECT_EQ(queue().counts().todo, 3);
}

TEST_F(AwayQueues, WhatIsPutBackMustBeWritten) {
  TaskQueue q = queue_of_leader();
  q.begin(1, tasks(2));
  cut_.cut = true;
  EXPECT_THROW(q.restore({1, {0}, {}}, tasks(2)), Unavailable);
  cut_.cut = false;
  EXPECT_TRUE(q.come_back());
  q.restore({1, {0}, {}}, tasks(2));
  EXPECT_EQ(queue().counts().done, 1);
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
