#pragma once

// The thread that keeps a member in a group. It answers when a new generation is requested,
// requests one when the group breaks, and forms it.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "distributed/collectives/elastic_group.h"
#include "distributed/collectives/generations.h"
#include "distributed/collectives/liveness_listener.h"

namespace trireme::distributed {

class Keeper {
 public:
  using Clock = std::chrono::steady_clock;

  Keeper(Store& store, const ElasticOptions& options);
  ~Keeper();  // leaves
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Returns the newest group if this member is in it and it is whole; else null.
  std::shared_ptr<Group> group() const;
  // Waits for a group of a generation after `number`. Errors: Unavailable; those that ended the
  // thread.
  std::shared_ptr<Group> wait_after(std::int64_t number, Clock::time_point deadline);
  // Whether this member was in all generations since `number`, so that no step was committed
  // without it.
  bool in_all_since(std::int64_t number) const;

 private:
  // Wakes the thread. Groups share it and may outlive the keeper.
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    bool poked = false, stop = false;
  };
  static void poke(Signal& signal);
  void run();
  void end(std::exception_ptr failure);
  Milliseconds poll();
  void renew_lease();
  void take(const Generation& generation);
  void form(const Generation& generation, int rank);

  Store& store_;
  const ElasticOptions options_;
  const std::shared_ptr<Signal> signal_;
  std::unique_ptr<LeaseKeeper> lease_;
  bool joined_ = false;
  std::int64_t taken_ = 0;  // the newest generation that was handled

  // The following members are guarded by the mutex of the signal.
  std::shared_ptr<Group> group_;
  std::int64_t since_ = 0;  // the first generation of the unbroken membership
  std::exception_ptr failure_;

  std::optional<LivenessListener> liveness_;  // exists while this member takes part
  Generations generations_;
  std::thread thread_;
};

}  // namespace trireme::distributed
