#pragma once

// What a process of a job publishes about itself: metrics and health by HTTP, and an entry in the
// store of the job (job_keys.h).

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
  std::string job;                 // the name of the job
  std::string prefix;              // of its keys
  std::string role, name;          // of this process
  std::string host = "127.0.0.1";  // where to listen
  int port = 0;                    // 0: any free port
  std::optional<int> place = {};   // of a parameter server
};

class ProcessMonitor {
 public:
  explicit ProcessMonitor(const ProcessMonitorOptions& options);
  ~ProcessMonitor();  // ends the HTTP server first; the keys of the process end with its lease
  ProcessMonitor(const ProcessMonitor&) = delete;
  ProcessMonitor& operator=(const ProcessMonitor&) = delete;

  Registry& registry() { return registry_; }
  Health& health() { return health_; }
  // Call it before start(). A thread of the monitor calls `value` twice a second and puts a changed
  // value into the store, on the lease of this process. While the value is empty, the key belongs
  // to another process. What `value`, the registry and the checks read exists as long as the
  // monitor.
  void publish(const std::string& key, std::function<std::string()> value);

  // Serves, and writes the entry. The store outlives the monitor; nothing waits for it. Errors: io
  // if the address is not available.
  void start(Store& store, const Pages& more = {});
  int port() const { return http_->port(); }
  // Whether its entry exists: not while the store does not answer.
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
  std::map<std::string, std::string> told_;  // written on the lease
  mutable std::mutex mutex_;                 // of the following members
  std::condition_variable wake_;
  bool stop_ = false, entered_ = false;
  std::thread thread_;
  std::optional<HttpServer> http_;
};

// The check "lease": whether a process still has its leases, by its own knowledge.
class LeaseWriter {
 public:
  explicit LeaseWriter(Health& health);
  void tell(bool lost) { *lost_ = lost; }

 private:
  const std::shared_ptr<std::atomic<bool>> lost_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace trireme::distributed
