#pragma once

// The tasks of an epoch: to do, pending with an owner, done, or failed. A task is handed out again when its
// owner is too slow, gives it back or is gone, so it is run at least once; it counts as done by its last
// owner and attempt alone, so it is done once. One that ends badly too often is poison: it fails, and stays so
// when the queue is put back.
//
// Owners have several tasks, and work on them in the order in which they got them. So when one is gone, it is the
// first that it had which may be to blame.
//
// Each task is a key of the Store, and each change is committed there, under the leader's guard, before anybody
// hears of it. The next leader reads what is there and goes on; pending tasks then have their whole time again,
// since clocks of two machines say nothing to each other.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

// What an owner holds, and shows to finish it.
struct Task {
  std::int64_t id = 0;       // from 0, in the order given
  std::int64_t attempt = 0;  // rises whenever it is handed out, also from one epoch to the next
  std::string data;          // what to do, opaque here
  bool again = false;        // somebody has had it before in this epoch
};

// A task that has ended badly, and has not been done since.
struct BadTask {
  std::int64_t epoch = 0, id = 0;
  std::string what;              // TaskQueueOptions::describe
  bool failed = false;           // it is poison, and left out
  int deaths = 0;                // of owners
  std::vector<std::string> why;  // of each bad end, a line
};
// As a store has them, by epoch and task. `prefix`: as in the options. Errors: as Store; data.
std::vector<BadTask> bad_tasks(Store& store, const std::string& prefix);
// "batches 12 to 27 of epoch 1: ended badly twice: trainer_1 died or was cut off; trainer_4 died or was cut off".
std::string text_of(const BadTask& task);

struct TaskQueueOptions {
  std::string prefix;                   // of its keys, "job/task/"
  std::optional<Condition> guard = {};  // of every change: Election::guard
  int poison = 3;                       // a task that ended badly so often fails
  Milliseconds least{10000};  // before a pending task is handed out again: at least this, and
  double factor = 5;          // so many times what tasks take, as a moving average
  // What a task is, for people; if empty, "task 3".
  std::function<std::string(const Task&)> describe = {};
  std::function<void(const BadTask&)> ended_badly = {};  // told of each bad end
};

struct TaskCounts {
  std::int64_t todo = 0, pending = 0, done = 0, failed = 0;
  std::int64_t begun =
      0;  // of those to do: handed out before, so that somebody may have learned of them
  std::int64_t refused = 0;   // ends by owners whose task is theirs no more
  std::int64_t attempts = 0;  // tasks handed out by this leader, again and again included
  std::int64_t bad_ends = 0;  // of which this leader has heard
  std::int64_t left_out = 0;  // tasks of all epochs that failed
};

// What a checkpoint keeps of a queue of which nothing is pending or begun: tasks that are neither done nor failed are to do, and
// nobody has learned anything of them.
struct QueueState {
  std::int64_t epoch = 0;
  std::vector<std::int64_t> done, failed;  // rising
  bool operator==(const QueueState&) const = default;
};

// Not safe for several threads at once. All changes may throw Unavailable, and then have happened or not: the next
// call reads again what is there. Errors: usage, if the guard does not hold: another one leads.
class TaskQueue {
 public:
  using Clock = std::chrono::steady_clock;

  // Reads what is there.
  TaskQueue(Store& store, const TaskQueueOptions& options);
  // Says which epoch has begun; not there before the first one. `prefix`: as in the options.
  static std::string epoch_key(const std::string& prefix);

  std::int64_t epoch() const { return epoch_; }  // 0: none has begun
  // Begins an epoch, the next one after epoch(); its tasks replace those of the one before. Does nothing if it has
  // begun, as when an answer was lost. Errors: usage, for another number.
  void begin(std::int64_t epoch, const std::vector<std::string>& tasks);

  QueueState state() const;
  // Puts the queue back, whatever it holds: these are the tasks of the state's epoch. What was pending is no one's any more.
  // Errors: usage, for a state with tasks that are not there.
  void restore(const QueueState& state, const std::vector<std::string>& tasks);

  // A task for `owner`, the first that is to do, or the first that is begun; nothing if there is none at the moment.
  enum class Which { any, begun };
  std::optional<Task> take(const std::string& owner, Clock::time_point now,
                           Which which = Which::any);
  // Whether the task was the owner's, by its attempt; else nothing happens, and it is counted. One that is to be handed out again,
  // since its owner was too slow or seemed to be gone, may be finished as long as nobody else has got it.
  bool finish(const std::string& owner, const Task& task, Clock::time_point now);
  // It ended badly. `why`: a line for people. `death`: its owner ends by it, too.
  bool give_back(const std::string& owner, const Task& task, const std::string& why,
                 bool death = false);
  // Hands out again what was pending with `owner`, who leaves. Of how many tasks.
  int release(const std::string& owner);
  // The same of an owner that has died: the first task that it had has ended badly.
  int lose(const std::string& owner);
  // The same with what has been pending for too long. The first task of its owner has ended badly, if it is known what tasks take.
  int expire(Clock::time_point now);

  bool finished() const;                 // an epoch has begun, and all is done or failed
  std::set<std::string> owners() const;  // of pending tasks
  std::vector<Task> pending_of(const std::string& owner) const;  // in the order that it got them
  std::vector<BadTask> bad() const;                              // of all epochs
  // Those that are done or failed, as ranges [first, last): rising, with gaps between them.
  std::vector<std::pair<std::int64_t, std::int64_t>> ended() const {
    return {ended_.begin(), ended_.end()};
  }
  TaskCounts counts() const;
  Milliseconds patience() const;  // after which a pending task expires now

 private:
  // todo: nobody has had it since the epoch began, or since the queue was put back.
  enum class State : char { todo = 't', begun = 'b', pending = 'p', done = 'd', failed = 'f' };
  struct Item {
    State state = State::todo;
    std::int64_t attempt = 0;
    int bad = 0;  // how often it ended badly
    std::string owner, data;       // one that is begun may have the owner it had last
    std::int64_t modified = 0;     // its key's revision: when it was handed out, if it is pending
    Clock::time_point since = {};  // of pending ones
    bool timed = false;            // whether this leader handed it out
  };

  void read();
  bool read_epoch(const Entry& entry);
  void read_item(std::int64_t id, const Entry& entry, const std::map<std::int64_t, Item>& before);
  void forget_all();
  void sort_in(std::int64_t id, State state);
  void add_ended(std::int64_t id);
  const std::set<std::int64_t>& ids(State state) const { return ids_.at(state); }
  std::int64_t count(State state) const { return static_cast<std::int64_t>(ids(state).size()); }
  void write(std::int64_t epoch, const std::vector<Item>& items);
  void read_if_unsure();
  std::string key(std::int64_t id) const;
  std::string bad_key(std::int64_t epoch, std::int64_t id) const;
  Task task_of(std::int64_t id, const Item& item) const;
  std::string described(const Task& task) const;
  std::int64_t last_attempt() const;
  std::vector<Item> fresh(std::int64_t epoch, const std::vector<std::string>& tasks) const;
  static std::string text_of(const Item& item);
  static Item item_of(const std::string& key, const std::string& text);
  std::int64_t commit(Transaction transaction);  // the revision
  void change(std::int64_t id, Item item, std::vector<Action> more = {});
  bool owns(const std::string& owner, const Task& task, bool late = false);
  void learn(Clock::duration took);
  void end_badly(std::int64_t id, const std::string& why, bool death);
  void hand_out_again(std::int64_t id, bool may_finish);

  Store& store_;
  const TaskQueueOptions options_;
  std::int64_t epoch_ = 0;
  std::int64_t attempt_ = 0;  // of the tasks of this epoch, before any was handed out
  bool unsure_ = false;  // what a change that was not answered has done
  std::map<std::int64_t, Item> items_;
  // Of all items, by their state.
  std::map<State, std::set<std::int64_t>> ids_ = {{State::todo, {}},
                                                  {State::begun, {}},
                                                  {State::pending, {}},
                                                  {State::done, {}},
                                                  {State::failed, {}}};
  std::map<std::int64_t, std::int64_t> ended_;                    // by their first task
  std::map<std::pair<std::int64_t, std::int64_t>, BadTask> bad_;  // by epoch and id
  // Of those that took too long, by id and attempt: when they were handed out. Their ends tell what tasks take, though they may count
  // for nothing else.
  std::map<std::pair<std::int64_t, std::int64_t>, Clock::time_point> late_;
  std::int64_t refused_ = 0, attempts_ = 0, bad_ends_ = 0;
  double average_ms_ = 0;  // of tasks that were done
};

}  // namespace trireme::distributed
