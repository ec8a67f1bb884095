#pragma once

// How a launcher executes orders to its running job (job_keys.h): scale, and stop. Each of several
// launchers handles its share.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "distributed/job/job_keys.h"
#include "distributed/launch/supervisor.h"

namespace trireme::distributed {

// The share of `processes` processes of a role for the launcher of that rank.
inline int share_of(int rank, int world, int processes) {
  return processes / world + (rank < processes % world ? 1 : 0);
}

struct ScaleControllerOptions {
  std::string prefix;  // of the keys of the job
  Wanted wanted;       // initial numbers of the whole job
  // Allowed numbers of trainers. Unset: any number, and all wanted trainers must live.
  std::optional<Limits> limits = {};
  int rank = 0, world = 1;  // of launchers
  std::function<void(const std::string&)> say = {};
};

// For one thread; a separate thread reads the store, which may be slow.
class ScaleController {
 public:
  // Rank 0 writes the initial numbers. The store and the supervisor outlive the object. Errors: as
  // Store.
  ScaleController(Store& store, ScaleControllerOptions options, Supervisor& children);
  ~ScaleController();
  ScaleController(const ScaleController&) = delete;
  ScaleController& operator=(const ScaleController&) = delete;

  // Starts and ends processes when the wanted numbers change, or a server is drained.
  void poll();
  // The wanted numbers now.
  Wanted wanted() const { return wanted_; }
  // Places of parameter servers: servers that must end have theirs until they are drained.
  int places() const { return places_; }
  // Whether the job continues with this number of trainers when no others can be started.
  bool enough(int trainers) const;
  // Whether the job must end, since when, and how.
  struct Stop {
    std::chrono::steady_clock::time_point since;
    StopOrder order;
  };
  std::optional<Stop> stop_asked() const { return stop_; }
  // Whether it must end now: it waits for no last checkpoint, or not any longer.
  bool ends() const;
  // The result of the last checkpoint so far; nothing if none was ordered. Errors: as Store.
  std::optional<LastCheckpoint> last_checkpoint() const;
  // For rank 0: publishes the result, and leaves a moment to read it.
  void stopped(const StopReport& report);

 private:
  // The orders in the store.
  struct Orders {
    std::optional<Entry> wanted, stop, last;
    bool begun = false;  // a master has made an epoch; before, nothing can be trained
    std::vector<Entry> drained;
    std::vector<ProcessEntry> servers;  // if some are drained
  };
  void run();
  Orders read();
  void scale(const Wanted& wanted);
  void scale_trainers(int share);
  int share_of(int processes) const;
  void end_drained(const Orders& orders);
  void check_stop(const Orders& orders);
  void forget(const Entry& order);
  void say(const std::string& text) const;

  Store& store_;
  const ScaleControllerOptions options_;
  Supervisor& children_;
  Wanted wanted_;
  int places_;
  std::int64_t seen_ = 0;  // revision of the last wanted numbers
  std::optional<Stop> stop_;
  bool waits_ = false;  // for a last checkpoint
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Orders orders_;  // guarded by the mutex
  bool end_ = false;
  std::thread thread_;
};

}  // namespace trireme::distributed
