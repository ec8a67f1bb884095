#pragma once

// What processes do that no launcher looks after, as in Kubernetes (RoleOptions::until_done): they
// see themselves that the job is over, and heed the order to stop (job_keys.h), which a launcher
// would do for them. First trainers leave, when the last checkpoint is there or its time is over;
// then the masters, one of which tells what became of it. The key "stopped" stays: whoever is
// started later ends at once. Parameter servers stay.

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

// The exit code of such a process when the job was stopped: others would do the same, so none is to
// be started in its place.
inline constexpr int kJobStoppedCode = 7;
// Thrown where a master ends with it.
struct JobStopped {
  std::string message;
};

// The order to stop, as the store has it. One thread calls all functions.
class StopOrders {
 public:
  using Clock = std::chrono::steady_clock;
  // The store outlives the object.
  StopOrders(Store& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}

  // Errors: Unavailable.
  void look();
  // The order, and since when it is known here.
  const std::optional<StopOrder>& order() const { return order_; }
  Clock::time_point since() const { return since_; }
  // Whether trainers are to leave: no last checkpoint is waited for, or not any longer.
  bool ends() const;
  // Whether all has been done, and told.
  bool stopped() const { return stopped_; }
  // What became of the last checkpoint; nothing if none was asked for.
  std::optional<LastCheckpoint> last_checkpoint() const;

 private:
  Store& store_;
  const std::string prefix_;
  std::optional<StopOrder> order_;
  Clock::time_point since_ = {};
  bool begun_ = false,
       stopped_ = false;  // a master has cut an epoch, without which nothing can have been learned
  std::optional<Entry> last_;
};

// Of a trainer, whatever it is doing: calls `leave` once when it is to, by a thread of its own.
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

// Of a master. One thread calls all functions.
class UnattendedMaster {
 public:
  // Writes the limits and how many processes are wanted, if nobody has. The store outlives the
  // object. Errors: as Store.
  UnattendedMaster(Store& store, const RoleOptions& options);

  // Whether the job is over and nobody is there any more who needs a master: asks the store now and
  // then. Errors: JobStopped.
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
  std::optional<Clock::time_point> ending_;  // since trainers are to leave
  int processes_ = 0;                        // that there were then, but servers
};

}  // namespace trireme::distributed
