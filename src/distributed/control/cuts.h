#pragma once

// Checkpoints of a whole job, as its leader makes them and goes back to them, whoever holds what is
// learned; and whether this master is the leader.
//
// A checkpoint is a cut: while it is written no task is pending, and none is begun and left. So
// whoever goes back to it, and the queue of tasks with it, loses nothing that was learned before
// and learns nothing twice.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/checkpoint/catalog.h"
#include "distributed/control/cut.h"
#include "distributed/master/master.h"

namespace trireme::distributed {

struct CutOptions {
  std::string prefix;       // of the job's keys
  std::string folder = {};  // of checkpoints; empty: there are none
  double every = 60;        // seconds from one to the next
  int keep = 2;             // as CatalogOptions
  // Goes on with what is in the folder. Without, an unfinished run's checkpoints there are an
  // error, a finished one's go.
  bool resume = false;
  std::function<void(const std::string&)> say = {};  // what happens, for people
  // A checkpoint has been made; or has failed. For metrics.
  std::function<void(std::int64_t checkpoint, double seconds, std::uint64_t bytes)> saved = {};
  std::function<void()> not_saved = {};
};

// Used by one thread.
class Cuts {
 public:
  // All outlive the object. The master has the option `hold`.
  Cuts(Store& store, Master& master, const CutOptions& options)
      : store_(store), master_(master), options_(options) {}

  // To be called again and again: if this master leads, `look`, and when a leadership of it begins,
  // `begin` before that. What could not be reached is said, and tried again at the next call.
  // Errors: what no later call would mend.
  void lead(const std::function<void(const Leadership&)>& begin, const std::function<void()>& look);

  // --- For `look`
  std::uint64_t epoch() const { return leadership_->epoch; }
  // Changes of the store by this leader alone. Errors: Deposed.
  void put(std::vector<Action> actions);
  checkpoint::Catalog catalog();

  // The newest checkpoint that `whole` accepts, and its id; 0 and an empty cut for the beginning,
  // if there are none. Newer ones are forgotten. `fresh`: this run of the job has not begun yet.
  // Errors: usage, see `resume`; data, if all are damaged.
  using Whole = std::function<bool(checkpoint::Catalog& catalog, std::int64_t id, const Cut& cut)>;
  std::pair<std::int64_t, Cut> newest(bool fresh, const Whole& whole);

  // One look at whether a checkpoint is to be made, and at how far it is. When nothing is pending
  // `save` is called, again and again until it returns true, since it has said done(), or throws:
  // Unavailable or io, then there is no checkpoint this time. When all tasks are over there is a
  // last one, and the master may conclude. `rollbacks`: as of Master::go_on. Errors: Deposed;
  // others of `save`.
  using Save = std::function<bool(const QueueState& queue, bool over)>;
  void look(std::uint32_t rollbacks, const Save& save);
  // The job is to end before it is done: last_checkpoint.h. What Unavailable hinders is then tried
  // again until it is there.
  bool ending() const { return last_ != Last::none; }
  // Instead of look() for a job in which nobody can have learned anything yet.
  void look_before_it_begins();
  bool draining() const { return draining_.has_value(); }
  // What was begun is not to be, as when the job goes back. The master hands out nothing.
  void drop();
  // For `save`: it is there.
  void done(std::int64_t id, std::uint64_t bytes, double seconds);

  void say(const std::string& text) const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Last { none, wanted, told };
  Last read_last();
  Last read_last_or_go_on();
  void tell_last(const std::string& why = "");
  bool due() const;
  std::optional<std::string> try_to_save(const Save& save);
  void fail(const Error& error);
  void tell_trouble(const std::string& why);
  void go_on(std::uint32_t rollbacks);
  std::chrono::milliseconds every() const {
    return std::chrono::milliseconds(static_cast<std::int64_t>(options_.every * 1000));
  }

  Store& store_;
  Master& master_;
  const CutOptions options_;
  std::optional<Leadership> leadership_;  // that has begun
  Clock::time_point next_ = {};
  std::string trouble_;  // that was told last, and when
  Clock::time_point troubled_at_ = {};
  std::optional<Clock::time_point> draining_;  // since
  std::uint32_t rollbacks_ = 0;                // as of the last look
  Last last_ = Last::none;                     // as of this look
};

}  // namespace trireme::distributed
