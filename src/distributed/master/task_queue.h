#pragma once

// The tasks of an epoch: to do, pending with an owner, done, or failed. A task is handed out again
// when its owner is too slow, returns it or is lost, so it runs at least once. Only the end by its
// last owner and attempt counts, so it is done once. A task that ends badly too often is poison: it
// fails, also after a rollback of the queue.
//
// Owners have several tasks and work on them in order. So if an owner fails, its first task may be
// the cause.
//
// Each task is a key of the Store. Each change is committed there, under the guard of the leader,
// before any trainer learns of it. The next leader reads the store and continues. Pending tasks
// then get their whole time again, because clocks of two machines cannot be compared.
//
// While the store is away(), changes happen here only, so that work continues: provisionally, until
// the store answers again and this leader can write them. If it cannot, they have not happened.

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

// A task as its owner has it, and as it names it to finish it.
struct Task {
  std::int64_t id = 0;       // from 0, in the order given
  std::int64_t attempt = 0;  // rises with every hand-out, also between epochs
  std::string data;          // the work; opaque here
  std::int64_t epoch = 0;
  bool again = false;  // another owner had it before in this epoch
};

struct TaskQueueOptions {
  std::string prefix;                   // of its keys, "job/task/"
  std::optional<Condition> guard = {};  // of every change: Election::guard
  int poison = 3;                       // a task with this many bad ends fails
  Milliseconds min_timeout{10000};  // minimum time before a pending task is handed out again, and
  double factor = 5;                // this many times the moving average of the time of a task
  // Describes a task for people; by default "task 3".
  std::function<std::string(const Task&)> describe = {};
  std::function<void(const BadTask&)> ended_badly = {};  // called for each bad end
};

struct TaskCounts {
  std::int64_t todo = 0, pending = 0, done = 0, failed = 0;
  std::int64_t begun =
      0;  // of the tasks to do: handed out before, so that they may be partly trained
  std::int64_t refused = 0;   // ends by owners that no longer have the task
  std::int64_t attempts = 0;  // tasks handed out by this leader, with repetitions
  std::int64_t bad_ends = 0;  // known to this leader
  std::int64_t left_out = 0;  // failed tasks of all epochs
};

// The state of a queue without pending or begun tasks, for a checkpoint. Tasks that are neither
// done nor failed are to do, and no trainer has begun them.
struct QueueState {
  std::int64_t epoch = 0;
  std::vector<std::int64_t> done, failed;  // ascending
  bool operator==(const QueueState&) const = default;
};

// Not thread-safe. Errors of all functions that change the queue: Deposed if another master leads.
class TaskQueue {
 public:
  using Clock = std::chrono::steady_clock;

  // Reads the queue from the store. Errors: Unavailable; data for an invalid task.
  TaskQueue(Store& store, const TaskQueueOptions& options);
  // The key of the current epoch; missing before the first one. `prefix`: as in the options.
  static std::string epoch_key(const std::string& prefix);

  std::int64_t epoch() const { return epoch_; }  // 0: none has begun
  // Begins the epoch after epoch(); its tasks replace those of the previous one. No effect if it
  // has begun. Errors: usage for another number.
  void begin(std::int64_t epoch, const std::vector<std::string>& tasks);

  QueueState state() const;
  // Restores the queue; `tasks` are those of the epoch of the state. Pending tasks lose their
  // owners. Errors: usage for a state with unknown tasks; Unavailable, then call it again.
  void restore(const QueueState& state, const std::vector<std::string>& tasks);

  // Gives `owner` the first task to do, or the first begun one; nothing if there is none at the
  // moment.
  enum class Which { any, begun };
  std::optional<Task> take(const std::string& owner, Clock::time_point now,
                           Which which = Which::any);
  // Returns whether the owner had the task in this attempt; otherwise only counts the refusal. A
  // task that must be handed out again, because its owner was too slow or seemed lost, may be
  // finished until another owner gets it.
  bool finish(const std::string& owner, const Task& task, Clock::time_point now);
  // The task ended badly. `why`: a line for people. `death`: its owner ends with the error.
  bool give_back(const std::string& owner, const Task& task, const std::string& why,
                 bool death = false);
  // The owner leaves: its pending tasks are handed out again. Returns their number.
  int release(const std::string& owner);
  // The owners failed. The first task of each ended badly; but if several fail at once, for example
  // with their machine, no task is the cause.
  int lose(const std::vector<std::string>& owners);
  // The same for tasks that were pending too long. The first task of an owner ended badly if other
  // owners finish tasks meanwhile.
  int expire(Clock::time_point now);

  bool finished() const;                 // an epoch has begun, and all its tasks are done or failed
  std::set<std::string> owners() const;  // of pending tasks
  std::vector<Task> pending_of(const std::string& owner) const;  // in the order of taking
  std::vector<BadTask> bad() const;                              // of all epochs
  // Completed tasks as ascending, separate ranges [first, last).
  std::vector<std::pair<std::int64_t, std::int64_t>> done() const {
    return {done_.begin(), done_.end()};
  }
  TaskCounts counts() const;
  Milliseconds patience() const;  // the time after which a pending task expires now

  // --- While the store is unavailable
  // Since when; nothing if the store has all changes.
  std::optional<Clock::time_point> away_since() const { return away_since_; }
  bool away() const { return away_since_.has_value(); }
  void go_away() { away_since_ = Clock::now(); }  // known from another source
  // Writes the changes since then. Returns whether the store answered.
  bool come_back();
  // The same for a leader that leads again, under another guard, without another leader in between.
  bool come_back_as(Condition guard) {
    options_.guard = std::move(guard);
    go_away();
    return come_back();
  }

 private:
  // todo: not handed out since the epoch began, or since the queue was restored.
  enum class State : char { todo = 't', begun = 'b', pending = 'p', done = 'd', failed = 'f' };
  struct Item {
    State state = State::todo;
    std::int64_t attempt = 0;
    int bad = 0;                   // number of bad ends
    std::string owner, data;       // a begun task may keep its last owner
    std::int64_t modified = 0;     // revision of its key
    std::int64_t order = 0;        // of pending tasks: later ones have a higher number
    Clock::time_point since = {};  // of pending tasks
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
  std::int64_t commit(Transaction transaction);  // returns the revision
  bool owns(const std::string& owner, const Task& task, bool late = false);
  void learn(Clock::duration took);
  void note_bad(const BadTask& bad);
  void end_badly(std::int64_t id, const std::string& why, bool death);
  void hand_out_again(std::int64_t id, bool may_finish);

  Store& store_;
  TaskQueueOptions options_;
  std::int64_t epoch_ = 0;
  std::int64_t epoch_modified_ = 0;  // revision of its key
  std::int64_t attempt_ = 0;         // the last attempt before the tasks of this epoch
  std::int64_t order_ = 0;           // of the last task handed out
  std::map<std::int64_t, Item> items_;
  // All items by state.
  std::map<State, std::set<std::int64_t>> ids_ = {{State::todo, {}},
                                                  {State::begun, {}},
                                                  {State::pending, {}},
                                                  {State::done, {}},
                                                  {State::failed, {}}};
  std::map<std::int64_t, std::int64_t> done_;                     // ranges by their first task
  std::map<std::pair<std::int64_t, std::int64_t>, BadTask> bad_;  // by epoch and id
  // Tasks that took too long, by id and attempt: when they were handed out. Their ends count for
  // the time of a task, even if they count for nothing else.
  std::map<std::pair<std::int64_t, std::int64_t>, Clock::time_point> late_;
  // What the store does not have yet: some items or, with the epoch, all of them; and the bad ends,
  // or completions after bad ends, of these.
  std::set<std::int64_t> unwritten_;
  std::set<std::pair<std::int64_t, std::int64_t>> unwritten_bad_;  // by epoch and id
  bool epoch_unwritten_ = false;
  std::optional<Clock::time_point> away_since_;
  std::int64_t refused_ = 0, attempts_ = 0, bad_ends_ = 0;
  double average_ms_ = 0;                     // of completed tasks
  std::optional<Clock::time_point> done_at_;  // of the last completed task
};

}  // namespace trireme::distributed
