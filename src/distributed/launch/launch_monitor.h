#pragma once

// What a launcher publishes about itself and the whole job: its metrics, the progress of trainers,
// and for Prometheus the addresses of all processes of the job (GET /targets).

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "distributed/job/process_monitor.h"
#include "distributed/launch/progress.h"
#include "distributed/launch/supervisor.h"

namespace trireme::distributed {

class LaunchMonitor {
 public:
  // Serves, and publishes the progress of the job if `leads`. `unauthenticated_peers`: refused
  // callers of its store, for a launcher that serves it. The store outlives the object. Errors: io
  // if the address is not available.
  LaunchMonitor(const ProcessMonitorOptions& options, Store& store, bool leads,
                const std::function<std::int64_t()>& unauthenticated_peers = {});

  // Called regularly by the thread of the launcher. `all`: the progress of all trainers.
  void poll(const Supervisor& children, const Totals& all);
  int port() const { return monitor_.port(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Shared {
    std::mutex mutex;
    JobProgress progress;
  };

  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  const Clock::time_point start_ = Clock::now();
  Clock::time_point since_ = start_;  // time of the last rate
  Totals before_ = {};
  ProcessMonitor monitor_;
  Counter* restarts_;
  Gauge *rate_, *loss_;
  Counter *examples_, *steps_;
};

// All processes below a prefix, in the format of HTTP discovery of Prometheus.
std::string targets(Store& store, const std::string& job_name, const std::string& prefix);

}  // namespace trireme::distributed
