#pragma once

// A lease with the lifetime of its owner.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "distributed/coordination/store.h"

namespace trireme::distributed {

// Seconds. No store grants less: etcd turns 1 s into 2 s. The lease is renewed three times in its
// time, so one renewal may be late.
inline constexpr std::int64_t kMinLease = 2;
// Errors: usage for a lease of fewer seconds.
void check_lease_time(std::int64_t seconds);

struct LeaseOptions {
  std::int64_t seconds = 5;  // at least kMinLease
  // A thread of the keeper calls it each time the lease becomes lost().
  std::function<void()> on_lost = {};
};

class LeaseKeeper {
 public:
  // Grants the lease and renews it three times in its time. The store outlives the keeper. Errors:
  // usage; as Store::grant.
  LeaseKeeper(Store& store, const LeaseOptions& options);
  // Revokes the lease if the store answers in time.
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  std::int64_t id() const { return id_; }
  // Returns whether the lease may have ended: the store said so, or the time since the start of the
  // last successful renewal is so long that it may have ended in the store. So the owner knows it
  // before another process can take the keys of the lease, if clocks run equally fast. A store that
  // was down may still have the lease when it answers again. Then it is not lost any more, and no
  // process can have taken its keys.
  bool lost() const;
  // Returns whether the store has said that the lease has ended, with all its keys. The owner then
  // needs another lease.
  bool ended() const;
  // The start of the last successful renewal.
  std::chrono::steady_clock::time_point heard() const;

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  bool ask();
  void tell();

  Store& store_;
  const LeaseOptions options_;
  Clock::time_point heard_;  // as heard()
  const std::int64_t id_;
  Clock::time_point safe_until_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false, ended_ = false;
  bool told_ = false;  // whether lost() was reported; used by the thread only
  std::thread thread_;
};

}  // namespace trireme::distributed
