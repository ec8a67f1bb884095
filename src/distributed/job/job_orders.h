#pragma once

// The orders to a running job as its processes see them: keys below "orders/" (job_keys.h).

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "distributed/coordination/key_watcher.h"
#include "distributed/job/job_keys.h"

namespace trireme::distributed {

struct OrdersState {
  std::optional<Entry> wanted = {};                  // the wanted numbers of processes
  std::vector<Entry> drained = {};                   // parameter servers that hold nothing any more
  std::optional<StopOrder> stop = {};                // stays when its key is erased
  std::chrono::steady_clock::time_point since = {};  // when the order to stop was seen here
  bool begun = false;    // a master had made an epoch then; before, nothing can be trained
  bool stopped = false;  // the job has stopped and reported it
  std::optional<Entry> last = {};  // the result of the last checkpoint

  // Whether trainers must leave: there is no last checkpoint to wait for, or not any longer.
  bool ends() const;
  // The result of the last checkpoint; nothing if none was ordered. Errors: data.
  std::optional<LastCheckpoint> last_checkpoint() const;
};

// Follows the orders in a separate thread. Thread-safe.
class JobOrders {
 public:
  // `prefix`: of the keys of the job. The thread calls `on_change` after each change. The store
  // outlives the object.
  JobOrders(Store& store, const std::string& prefix, std::function<void()> on_change = {});

  // As last read.
  OrdersState state() const;

 private:
  void read(const KeyWatcher::Entries& entries);

  Store& store_;
  const std::string prefix_;
  const std::function<void()> on_change_;
  mutable std::mutex mutex_;
  OrdersState state_;
  KeyWatcher watcher_;
};

}  // namespace trireme::distributed
