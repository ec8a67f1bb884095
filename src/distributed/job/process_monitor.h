#pragma once

// What a process of a job tells of itself: metrics and health by HTTP, and an entry in the job's
// store by which it is found (job_keys.h).

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "distributed/coordination/lease_keeper.h"
#include "distributed/job/job_keys.h"
#include "distributed/monitor/http.h"

namespace trireme::distributed {

struct ProcessMonitorOptions {
  std::string job;                 // what the job is called
  std::string prefix;              // of its keys
  std::string role, name;          // of this process
  std::string host = "127.0.0.1";  // to listen at
  int port = 0;                    // 0: any that is free
  std::optional<int> place = {};   // of a parameter server
};

class ProcessMonitor {
 public:
  explicit ProcessMonitor(const ProcessMonitorOptions& options);
  ~ProcessMonitor();  // ends the server first; the process's keys go with its lease
  ProcessMonitor(const ProcessMonitor&) = delete;
  ProcessMonitor& operator=(const ProcessMonitor&) = delete;

  Registry& registry() { return registry_; }
  Health& health() { return health_; }
  // Before start(). `value` is called by a thread of the monitor, twice a second; what is new is
  // put into the store, and goes with this process. As long as it is empty it is left to another
  // process. What it, the registry and the checks read is there as long as the monitor.
  void publish(const std::string& key, std::function<std::string()> value);

  // Serves, and puts the entry. The store outlives the monitor; nothing waits for it. Errors: io,
  // if the address cannot be had.
  void start(Store& store, const Pages& more = {});
  int port() const { return http_->port(); }
  // Whether its entry is there: not as long as the store does not answer.
  bool entered() const;

 private:
  void run();
  void tell();

  const ProcessMonitorOptions options_;
  ProcessEntry entry_;
  Registry registry_;
  Health health_;
  std::map<std::string, std::function<std::string()>> published_;  // by key
  Store* store_ = nullptr;
  std::optional<LeaseKeeper> lease_;
  std::map<std::string, std::string> told_;  // on the lease
  mutable std::mutex mutex_;                 // of what follows
  std::condition_variable wake_;
  bool stop_ = false, entered_ = false;
  std::thread thread_;
  std::optional<HttpServer> http_;
};

// The check "lease": whether what a process holds is still its own, as it says itself.
class LeaseSign {
 public:
  explicit LeaseSign(Health& health);
  void tell(bool lost) { *lost_ = lost; }

 private:
  const std::shared_ptr<std::atomic<bool>> lost_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace trireme::distributed
