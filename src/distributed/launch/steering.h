#pragma once

// What a launcher does about the orders that its job is given while it runs (job_keys.h): scale,
// and stop. Of several launchers each looks after its share.

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

// Of so many processes of a role, those that the launcher of that rank has.
inline int share_of(int rank, int world, int processes) {
  return processes / world + (rank < processes % world ? 1 : 0);
}

struct SteeringOptions {
  std::string prefix;  // of the job's keys
  Wanted wanted;       // at first, of the whole job
  // Trainers that there may be. Nothing: any number, and all of those that are wanted must live.
  std::optional<Limits> limits = {};
  int rank = 0, world = 1;  // of launchers
  std::function<void(const std::string&)> say = {};
};

// One thread calls all functions; another one, of the object, asks the store, which may be slow.
class Steering {
 public:
  // Rank 0 writes what is wanted at first. The store and the supervisor outlive the object. Errors:
  // as Store.
  Steering(Store& store, SteeringOptions options, Supervisor& children);
  ~Steering();
  Steering(const Steering&) = delete;
  Steering& operator=(const Steering&) = delete;

  // Starts processes and asks them to leave, when other numbers are wanted than before, or a server
  // is drained.
  void look();
  // What the job is to have now.
  Wanted wanted() const { return wanted_; }
  // Places that its parameter servers may have: those that are to go have theirs until they are
  // drained.
  int places() const { return places_; }
  // Whether the job goes on with so many trainers when no other ones can be started.
  bool enough(int trainers) const;
  // Whether the job is to end in good order, since when it is asked to, and how.
  struct Stop {
    std::chrono::steady_clock::time_point since;
    StopOrder order;
  };
  std::optional<Stop> stop_asked() const { return stop_; }
  // Whether it is to end now: no last checkpoint is waited for, or not any longer.
  bool ends() const;
  // What has become of the last checkpoint by now; nothing if none was asked for. Errors: as Store.
  std::optional<LastCheckpoint> last_checkpoint() const;
  // Of rank 0: tells who asked what became of it, and gives them a moment to read it.
  void stopped(const StopReport& report);

 private:
  // What the store says.
  struct Orders {
    std::optional<Entry> wanted, stop, last;
    bool begun = false;  // a master has cut an epoch, without which nothing can have been learned
    std::vector<Entry> drained;
    std::vector<ProcessEntry> servers;  // if some are drained
  };
  void run();
  Orders read();
  void scale(const Wanted& wanted);
  void scale_trainers(int share);
  int share_of(int processes) const;
  void end_drained(const Orders& orders);
  void look_at_stop(const Orders& orders);
  void forget(const Entry& order);
  void say(const std::string& text) const;

  Store& store_;
  const SteeringOptions options_;
  Supervisor& children_;
  Wanted wanted_;
  int places_;
  std::int64_t seen_ = 0;  // the revision of what was wanted last
  std::optional<Stop> stop_;
  bool waits_ = false;  // for a last checkpoint
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Orders orders_;  // with the mutex
  bool end_ = false;
  std::thread thread_;
};

}  // namespace trireme::distributed
