#pragma once

// What a launcher tells of itself and of the whole job: its own metrics, how far trainers are, and,
// for Prometheus, where all processes of the job can be asked (GET /targets).

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
  // Serves, and tells how far the job is if `leads`. `strangers`: how many callers its store has
  // refused, of a launcher that serves it. The store outlives the object. Errors: io, if the
  // address cannot be had.
  LaunchMonitor(const ProcessMonitorOptions& options, Store& store, bool leads,
                const std::function<std::int64_t()>& strangers = {});

  // By the launcher's thread, all the time. `all`: what all trainers have done.
  void look(const Supervisor& children, const Totals& all);
  int port() const { return monitor_.port(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Shared {
    std::mutex mutex;
    JobProgress progress;
  };

  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  const Clock::time_point start_ = Clock::now();
  Clock::time_point since_ = start_;  // when the rate was taken last
  Totals before_ = {};
  ProcessMonitor monitor_;
  Counter* restarts_;
  Gauge *rate_, *loss_;
  Counter *examples_, *steps_;
};

// Of all processes below a prefix, as Prometheus's discovery by HTTP wants it.
std::string targets(Store& store, const std::string& job_name, const std::string& prefix);

}  // namespace trireme::distributed
