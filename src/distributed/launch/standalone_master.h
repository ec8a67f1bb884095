#pragma once

// What processes do without a launcher, as on Kubernetes (RoleOptions::until_done): they find out
// that the job is over, and follow an order to stop (job_keys.h). First trainers leave, after the
// last checkpoint or its time limit; then the masters, one of which reports the result. The key
// "stopped" stays, so that processes that start later end at once. Parameter servers stay.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "distributed/job/job_orders.h"
#include "distributed/launch/role.h"

namespace trireme::distributed {

// The exit code of such a process when the job was stopped: a replacement would do the same, so
// none must be started.
inline constexpr int kJobStoppedCode = 7;
// Thrown where a master ends with it.
struct JobStopped {
  std::string message;
};

// For a trainer: a separate thread calls `leave` once when it must leave.
class StopWatch {
 public:
  StopWatch(const RoleOptions& options, std::function<void()> leave);
  ~StopWatch();
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;
  bool came() const;

 private:
  void run();

  const std::function<void()> leave_;
  const std::unique_ptr<Store> store_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool end_ = false, came_ = false;
  JobOrders orders_;
  std::thread thread_;
};

// For a master. For one thread.
class StandaloneMaster {
 public:
  // Writes the limits and the wanted numbers of processes, unless they exist. The store outlives
  // the object. Errors: as Store.
  StandaloneMaster(Store& store, const RoleOptions& options);

  // Whether the job is over and no process needs a master any more; follows the store.
  // Errors: JobStopped.
  bool over();

 private:
  using Clock = std::chrono::steady_clock;
  void write_wanted();
  bool trainers_are_gone();
  [[noreturn]] void end(const OrdersState& orders);

  Store& store_;
  const RoleOptions& options_;
  JobOrders orders_;
  Clock::time_point next_ = {};
  std::optional<Clock::time_point> ending_;  // since trainers must leave
  int processes_ = 0;                        // their number then, without servers
};

}  // namespace trireme::distributed
