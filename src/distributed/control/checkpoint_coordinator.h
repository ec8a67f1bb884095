#pragma once

// Checkpoints of a whole job, as its leader makes them and returns to them, for servers and for
// groups of trainers; and whether this master is the leader.
//
// A checkpoint is a cut: while it is written, no task is pending, and no task is begun but
// incomplete. So a job that returns to it, together with the queue of tasks, loses no training
// before it and repeats none.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/checkpoint/catalog.h"
#include "distributed/control/job_snapshot.h"
#include "distributed/master/master.h"

namespace trireme::distributed {

struct CheckpointCoordinatorOptions {
  std::string prefix;       // of the keys of the job
  std::string folder = {};  // of checkpoints; empty: there are none
  double every = 60;        // seconds between checkpoints
  int keep = 2;             // as in CatalogOptions
  // Continues from the checkpoints in the folder. Without it, checkpoints of an unfinished run are
  // an error, and those of a finished run are removed.
  bool resume = false;
  std::function<void(const std::string&)> say = {};  // receives events, for people
  // Called after a checkpoint, and after a failed one. For metrics.
  std::function<void(std::int64_t checkpoint, double seconds, std::uint64_t bytes)> saved = {};
  std::function<void()> not_saved = {};
};

// For one thread.
class CheckpointCoordinator {
 public:
  // All arguments outlive the object. The master has the option `hold`.
  CheckpointCoordinator(Store& store, Master& master, const CheckpointCoordinatorOptions& options)
      : store_(store), master_(master), options_(options) {}

  // Call it repeatedly. If this master leads, it calls `poll`; when a leadership of it begins, or
  // it does not know whether a put() happened, it calls `begin` before. Unreachable servers are
  // reported and tried again at the next call.
  // Errors: those that no later call can fix.
  void lead(const std::function<void(const Leadership&)>& begin, const std::function<void()>& poll);

  // --- For `poll`
  std::uint64_t epoch() const { return leadership_->epoch; }
  // Changes the store if this master still leads and the conditions hold. Returns the revision. If
  // a condition does not hold, or the answer is lost, lead() calls `begin` again: the change may
  // have happened, so everything is read as by the next leader. Errors: Deposed; Unavailable.
  std::int64_t put(std::vector<Action> actions, std::vector<Condition> conditions = {});
  checkpoint::Catalog catalog();

  // Returns the newest checkpoint that `whole` accepts, and its id; 0 and an empty cut, the start,
  // if there are none. Newer ones are removed. `fresh`: this run of the job has not begun yet.
  // Errors: usage, see `resume`; data if all are damaged.
  using Whole = std::function<bool(checkpoint::Catalog& catalog, std::int64_t id,
                                   const JobSnapshot& snapshot)>;
  std::pair<std::int64_t, JobSnapshot> newest(bool fresh, const Whole& whole);

  // Checks whether a checkpoint is due, and continues one in progress. When no task is pending, it
  // calls `save` repeatedly until that returns true, after it called done(), or throws: with
  // Unavailable or io there is no checkpoint this time. When all tasks are over there is a last
  // one, and the master may conclude. `rollbacks`: as in Master::go_on. Errors: Deposed; others of
  // `save`.
  using Save = std::function<bool(const QueueState& queue, bool over)>;
  void poll(std::uint32_t rollbacks, const Save& save);
  // The job must end before it is complete: last_checkpoint.h. After Unavailable the checkpoint is
  // then tried again until it succeeds.
  bool ending() const { return last_ != Last::none; }
  // Instead of poll() for a job in which no trainer can have begun.
  void validate_before_start();
  bool draining() const { return draining_.has_value(); }
  // Drops a checkpoint in progress, for example for a rollback. The master hands out no tasks.
  void drop();
  // For `save`: the checkpoint is complete.
  void done(std::int64_t id, std::uint64_t bytes, double seconds);

  void say(const std::string& text) const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Last { none, wanted, published };
  Last read_last();
  Last read_last_or_go_on();
  void publish_last(const std::string& why = "");
  bool due() const;
  std::optional<std::string> try_to_save(const Save& save);
  void fail(const Error& error);
  void report_trouble(const std::string& why);
  void go_on(std::uint32_t rollbacks);
  std::chrono::milliseconds every() const {
    return std::chrono::milliseconds(static_cast<std::int64_t>(options_.every * 1000));
  }

  Store& store_;
  Master& master_;
  const CheckpointCoordinatorOptions options_;
  std::optional<Leadership> leadership_;  // the current one
  std::uint64_t last_epoch_ = 0;          // of the current or the previous one
  bool in_doubt_ = false;                 // whether the last put() happened
  Clock::time_point next_ = {};
  std::string trouble_;  // the last reported problem, and when
  Clock::time_point troubled_at_ = {};
  std::optional<Clock::time_point> draining_;  // since when it waits for pending tasks
  std::uint32_t rollbacks_ = 0;                // as of the last check
  Last last_ = Last::none;                     // as of this check
};

}  // namespace trireme::distributed
