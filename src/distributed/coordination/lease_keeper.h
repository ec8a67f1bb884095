#pragma once

// A lease that lives as long as its owner does.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

// No store grants less: etcd makes 2 s of 1 s. And whoever is asked three times in that time may be
// late once.
inline constexpr std::int64_t kLeastLease = 2;
// Errors: usage, for a lease of fewer seconds.
void check_lease_time(std::int64_t seconds);

struct LeaseOptions {
  std::int64_t seconds = 5;  // kLeastLease at least
  // Called by a thread of the keeper when the lease is lost(), each time.
  std::function<void()> on_lost = {};
};

class LeaseKeeper {
 public:
  // Grants the lease; keeps it alive three times in its time. The store outlives the keeper.
  // Errors: usage; as Store::grant.
  LeaseKeeper(Store& store, const LeaseOptions& options);
  // Revokes it, if the store answers in time.
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  std::int64_t id() const { return id_; }
  // Whether the lease may have ended: the store said so, or has not answered for so long, counted
  // from when it was asked last with success, that it may have ended there. So the owner knows
  // before anybody else can take what the lease held, as long as clocks run equally fast. A store
  // that was away itself may still have the lease when it answers again: then it is lost no more,
  // and nobody can have taken what is on it.
  bool lost() const;
  // Whether the store has said that it has ended, with all that was on it: another one is needed.
  bool ended() const;
  // When the store was asked last with success.
  std::chrono::steady_clock::time_point heard() const;

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  bool ask();
  void tell();

  Store& store_;
  const LeaseOptions options_;
  const std::int64_t id_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Clock::time_point heard_, safe_until_;
  bool stop_ = false, ended_ = false;
  bool told_ = false;  // that it is lost; the thread's
  std::thread thread_;
};

}  // namespace trireme::distributed
