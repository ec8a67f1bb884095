#pragma once

// The thread that keeps a member in a group: it answers when a new generation is called for, calls
// for one when the group has broken, and forms it.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "distributed/collectives/elastic_group.h"
#include "distributed/collectives/generations.h"
#include "distributed/collectives/life_sign.h"

namespace trireme::distributed {

class Keeper {
 public:
  using Clock = std::chrono::steady_clock;

  Keeper(Store& store, const ElasticOptions& options);
  ~Keeper();  // leaves
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // The newest group, if this member is in it and it is whole; else none.
  std::shared_ptr<Group> group() const;
  // The same of a generation after `number`, waited for. Errors: Unavailable; those that ended the
  // thread.
  std::shared_ptr<Group> wait_after(std::int64_t number, Clock::time_point deadline);
  // Whether this member has been in all generations since `number`, so that nothing was committed
  // without it.
  bool in_all_since(std::int64_t number) const;

 private:
  // What wakes the thread. Groups have it too, and may outlive the keeper.
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    bool poked = false, stop = false;
  };
  static void poke(Signal& signal);
  void run();
  void end(std::exception_ptr failure);
  Milliseconds look();
  void renew_lease();
  void take(const Generation& generation);
  void form(const Generation& generation, int rank);

  Store& store_;
  const ElasticOptions options_;
  const std::shared_ptr<Signal> signal_;
  std::unique_ptr<LeaseKeeper> lease_;
  bool joined_ = false;
  std::int64_t taken_ = 0;  // the generation that was dealt with last

  // Below: with the signal's mutex.
  std::shared_ptr<Group> group_;
  std::int64_t since_ = 0;  // which generation this member has been in all of them
  std::exception_ptr failure_;

  std::optional<LifeSign> life_sign_;  // as long as this takes part
  Generations generations_;
  std::thread thread_;
};

}  // namespace trireme::distributed
