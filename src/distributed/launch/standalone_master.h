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

#include "distributed/job/job_keys.h"
#include "distributed/launch/role.h"

namespace trireme::distributed {

// The exit code of such a process when the job was stopped: a replacement would do the same, so
// none must be started.
inline constexpr int kJobStoppedCode = 7;
// Thrown where a master ends with it.
struct JobStopped {
  std::string message;
};

// The order to stop in the store. For one thread.
class StopOrders {
 public:
  using Clock = std::chrono::steady_clock;
  // The store outlives the object.
  StopOrders(Store& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}

  // Errors: Unavailable.
  void poll();
  // The order, and since when it is known here.
  const std::optional<StopOrder>& order() const { return order_; }
  Clock::time_point since() const { return since_; }
  // Whether trainers must leave: there is no last checkpoint to wait for, or not any longer.
  bool ends() const;
  // Whether the job has stopped and reported it.
  bool stopped() const { return stopped_; }
  // The result of the last checkpoint; nothing if none was ordered.
  std::optional<LastCheckpoint> last_checkpoint() const;

 private:
  Store& store_;
  const std::string prefix_;
  std::optional<StopOrder> order_;
  Clock::time_point since_ = {};
  bool begun_ = false,
       stopped_ = false;  // a master has made an epoch; before, nothing can be trained
  std::optional<Entry> last_;
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

  const std::string prefix_;
  const std::function<void()> leave_;
  const std::unique_ptr<Store> store_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool end_ = false, came_ = false;
  std::thread thread_;
};

// For a master. For one thread.
class StandaloneMaster {
 public:
  // Writes the limits and the wanted numbers of processes, unless they exist. The store outlives
  // the object. Errors: as Store.
  StandaloneMaster(Store& store, const RoleOptions& options);

  // Whether the job is over and no process needs a master any more; reads the store regularly.
  // Errors: JobStopped.
  bool over();

 private:
  using Clock = StopOrders::Clock;
  void write_wanted();
  bool trainers_are_gone();
  [[noreturn]] void end();

  Store& store_;
  const RoleOptions& options_;
  StopOrders orders_;
  Clock::time_point next_ = {};
  std::optional<Clock::time_point> ending_;  // since trainers must leave
  int processes_ = 0;                        // their number then, without servers
};

}  // namespace trireme::distributed
