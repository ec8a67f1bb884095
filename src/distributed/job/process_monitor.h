#pragma once

// What a process of a job tells about itself: metrics and health by HTTP, and its entry for the
// registry of processes.

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "distributed/coordination/process_registry.h"
#include "distributed/monitor/http.h"

namespace trireme::distributed {

struct ProcessMonitorOptions {
  std::string job;                 // the name of the job
  std::string role, name;          // of this process
  std::string host = "127.0.0.1";  // where to listen
  int port = 0;                    // 0: any free port
  std::optional<int> place = {};   // of a parameter server
};

class ProcessMonitor {
 public:
  explicit ProcessMonitor(const ProcessMonitorOptions& options);
  ProcessMonitor(const ProcessMonitor&) = delete;
  ProcessMonitor& operator=(const ProcessMonitor&) = delete;

  Registry& registry() { return registry_; }
  Health& health() { return health_; }
  // Serves the pages. What the registry, the checks and the pages read exists as long as the
  // monitor. Errors: io if the address is not available.
  void start(const Pages& more = {});
  int port() const { return http_->port(); }
  // For the registry of processes; with the address of the pages after start().
  const ProcessEntry& entry() const { return entry_; }

 private:
  const ProcessMonitorOptions options_;
  ProcessEntry entry_;
  Registry registry_;
  Health health_;
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
