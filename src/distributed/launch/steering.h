#pragma once

// What a launcher does about the orders that its job is given while it runs (job_keys.h): scale, and stop. Of several
// launchers each looks after its share.

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
  // Rank 0 writes what is wanted at first. The store and the supervisor outlive the object. Errors: as Store.
  Steering(Store& store, SteeringOptions options, Supervisor& children);
  ~Steering();
  Steering(const Steering&) = delete;
  Steering& operator=(const Steering&) = delete;

  // Starts processes and asks them to leave, when other numbers are wanted than before, or a server is drained.
  void look();
  // What the job is to have now.
  Wanted wanted() const { return wanted_; }
  // Places that its parameter servers may have: those that are to go have theirs until they are drained.
  int places() const { return places_; }
  // Whether the job goes on with so many trainers when no other ones can be started.
  bool enough(int trainers) const;
  // Whether the job is to end in good order, and in which time.
  std::optional<std::chrono::seconds> stop_asked() const;
  // Tells who asked what became of it, and gives them a moment to read it.
  void stopped(const StopReport& report);

 private:
  // What the store says.
  struct Orders {
    std::optional<Entry> wanted, stop;
    std::vector<Entry> drained;
    std::vector<ProcessEntry> servers;  // if some are drained
  };
  void run();
  Orders read();
  void scale(const Wanted& wanted);
  void scale_trainers(int share);
  int share_of(int processes) const;
  void end_drained(const Orders& orders);
  void forget(const Entry& order);
  void say(const std::string& text) const;

  Store& store_;
  const SteeringOptions options_;
  Supervisor& children_;
  Wanted wanted_;
  int places_;
  std::int64_t seen_ = 0;  // the revision of what was wanted last
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Orders orders_;  // with the mutex
  bool end_ = false;
  std::thread thread_;
};

}  // namespace trireme::distributed
