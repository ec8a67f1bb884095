#pragma once

// The tasks of an epoch: to do, pending with an owner, done, or failed. A task is handed out again
// when its owner is too slow, gives it back or is gone, so it is run at least once; it counts as
// done by its last owner and attempt alone, so it is done once. One that ends badly too often is
// poison: it fails, and stays so when the queue is put back.
//
// Owners have several tasks, and work on them in the order in which they got them. So when one is
// gone, it is the first that it had which may be to blame.
//
// Each task is a key of the Store, and each change is committed there, under the leader's guard,
// before anybody hears of it. The next leader reads what is there and goes on; pending tasks then
// have their whole time again, since clocks of two machines say nothing to each other.
//
// While the store is away() changes are made here alone, so that work goes on: on trust that this
// leader still is one when the store answers again, and can write them. If it is not, they have not
// happened.

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
#include "distributed/master/bad_task.h"

namespace trireme::distributed {

// What an owner holds, and shows to finish it.
struct Task {
  std::int64_t id = 0;       // from 0, in the order given
  std::int64_t attempt = 0;  // rises whenever it is handed out, also from one epoch to the next
  std::string data;          // what to do, opaque here
  std::int64_t epoch = 0;
  bool again = false;  // somebody has had it before in this epoch
};

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

// What a checkpoint keeps of a queue of which nothing is pending or begun: tasks that are neither
// done nor failed are to do, and nobody has learned anything of them.
struct QueueState {
  std::int64_t epoch = 0;
  std::vector<std::int64_t> done, failed;  // rising
  bool operator==(const QueueState&) const = default;
};

// Not safe for several threads at once. Errors of all that changes something: Deposed, if another
// one leads.
class TaskQueue {
 public:
  using Clock = std::chrono::steady_clock;

  // Reads what is there. Errors: Unavailable; data, for what is no task.
  TaskQueue(Store& store, const TaskQueueOptions& options);
  // Says which epoch has begun; not there before the first one. `prefix`: as in the options.
  static std::string epoch_key(const std::string& prefix);

  std::int64_t epoch() const { return epoch_; }  // 0: none has begun
  // Begins an epoch, the next one after epoch(); its tasks replace those of the one before. Does
  // nothing if it has begun. Errors: usage, for another number.
  void begin(std::int64_t epoch, const std::vector<std::string>& tasks);

  QueueState state() const;
  // Puts the queue back, whatever it holds: these are the tasks of the state's epoch. What was
  // pending is no one's any more. Errors: usage, for a state with tasks that are not there;
  // Unavailable, and then it is to be done again.
  void restore(const QueueState& state, const std::vector<std::string>& tasks);

  // A task for `owner`, the first that is to do, or the first that is begun; nothing if there is
  // none at the moment.
  enum class Which { any, begun };
  std::optional<Task> take(const std::string& owner, Clock::time_point now,
                           Which which = Which::any);
  // Whether the task was the owner's, by its attempt; else nothing happens, and it is counted. One
  // that is to be handed out again, since its owner was too slow or seemed to be gone, may be
  // finished as long as nobody else has got it.
  bool finish(const std::string& owner, const Task& task, Clock::time_point now);
  // It ended badly. `why`: a line for people. `death`: its owner ends by it, too.
  bool give_back(const std::string& owner, const Task& task, const std::string& why,
                 bool death = false);
  // Hands out again what was pending with `owner`, who leaves. Of how many tasks.
  int release(const std::string& owner);
  // The same of owners that have died. The first task that one had has ended badly; but where
  // several died at the same time, as with their machine, no task is to blame.
  int lose(const std::vector<std::string>& owners);
  // The same with what has been pending for too long. The first task of its owner has ended badly,
  // if others end theirs meanwhile.
  int expire(Clock::time_point now);

  bool finished() const;                 // an epoch has begun, and all is done or failed
  std::set<std::string> owners() const;  // of pending tasks
  std::vector<Task> pending_of(const std::string& owner) const;  // in the order that it got them
  std::vector<BadTask> bad() const;                              // of all epochs
  // Those that are done, as ranges [first, last): rising, with gaps between them.
  std::vector<std::pair<std::int64_t, std::int64_t>> done() const {
    return {done_.begin(), done_.end()};
  }
  TaskCounts counts() const;
  Milliseconds patience() const;  // after which a pending task expires now

  // --- Of a store that does not answer
  // Since when; nothing, if it has all that was changed.
  std::optional<Clock::time_point> away_since() const { return away_since_; }
  bool away() const { return away_since_.has_value(); }
  void go_away() { away_since_ = Clock::now(); }  // known from elsewhere
  // Writes what has changed meanwhile. Whether the store has answered.
  bool come_back();
  // The same for a leader that leads again, under another guard, and that nobody has followed in
  // between.
  bool come_back_as(Condition guard) {
    options_.guard = std::move(guard);
    go_away();
    return come_back();
  }

 private:
  // todo: nobody has had it since the epoch began, or since the queue was put back.
  enum class State : char { todo = 't', begun = 'b', pending = 'p', done = 'd', failed = 'f' };
  struct Item {
    State state = State::todo;
    std::int64_t attempt = 0;
    int bad = 0;                   // how often it ended badly
    std::string owner, data;       // one that is begun may have the owner it had last
    std::int64_t modified = 0;     // its key's revision
    std::int64_t order = 0;        // of pending ones: later ones have a higher number
    Clock::time_point since = {};  // of pending ones
    bool timed = false;            // whether this leader handed it out
  };

  void read();
  bool read_epoch(const Entry& entry);
  void sort_in(std::int64_t id, State state);
  void add_done(std::int64_t id);
  const std::set<std::int64_t>& ids(State state) const { return ids_.at(state); }
  std::int64_t count(State state) const { return static_cast<std::int64_t>(ids(state).size()); }
  std::string key(std::int64_t id) const;
  Task task_of(std::int64_t id, const Item& item) const;
  std::string described(const Task& task) const;
  std::int64_t last_attempt() const;
  std::vector<Item> fresh(std::int64_t epoch, const std::vector<std::string>& tasks) const;
  static std::string text_of(const Item& item);
  static Item item_of(const std::string& key, const std::string& text);
  void replace(std::int64_t epoch, std::vector<Item> items);
  void change(std::int64_t id, Item item);
  bool try_to_write();
  void write();
  void write_epoch();
  void write_some();
  void write_bad_of_before();
  void add_bad(std::int64_t id, Transaction& transaction) const;
  Action bad_change(std::int64_t epoch, std::int64_t id) const;
  void read_revisions();
  std::int64_t commit(Transaction transaction);  // the revision
  bool owns(const std::string& owner, const Task& task, bool late = false);
  void learn(Clock::duration took);
  void note_bad(const BadTask& bad);
  void end_badly(std::int64_t id, const std::string& why, bool death);
  void hand_out_again(std::int64_t id, bool may_finish);

  Store& store_;
  TaskQueueOptions options_;
  std::int64_t epoch_ = 0;
  std::int64_t epoch_modified_ = 0;  // its key's revision
  std::int64_t attempt_ = 0;         // of the tasks of this epoch, before any was handed out
  std::int64_t order_ = 0;           // of the last one that was
  std::map<std::int64_t, Item> items_;
  // Of all items, by their state.
  std::map<State, std::set<std::int64_t>> ids_ = {{State::todo, {}},
                                                  {State::begun, {}},
                                                  {State::pending, {}},
                                                  {State::done, {}},
                                                  {State::failed, {}}};
  std::map<std::int64_t, std::int64_t> done_;                     // ranges, by their first task
  std::map<std::pair<std::int64_t, std::int64_t>, BadTask> bad_;  // by epoch and id
  // Of those that took too long, by id and attempt: when they were handed out. Their ends tell what
  // tasks take, though they may count for nothing else.
  std::map<std::pair<std::int64_t, std::int64_t>, Clock::time_point> late_;
  // What the store does not have yet: some items, or, with the epoch, all of them; and of which of
  // these it has not heard how they have ended badly, or that they have not.
  std::set<std::int64_t> unwritten_;
  std::set<std::pair<std::int64_t, std::int64_t>> unwritten_bad_;  // by epoch and id
  bool epoch_unwritten_ = false;
  std::optional<Clock::time_point> away_since_;
  std::int64_t refused_ = 0, attempts_ = 0, bad_ends_ = 0;
  double average_ms_ = 0;                     // of tasks that were done
  std::optional<Clock::time_point> done_at_;  // the last of them
};

}  // namespace trireme::distributed
