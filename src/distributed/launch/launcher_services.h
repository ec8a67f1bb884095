#pragma once

// The services of a launcher for its job: its record, its orders, and what it publishes about
// itself and the whole job: its metrics, the progress of trainers, and for Prometheus the addresses
// of all processes of the job (GET /targets).

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "distributed/job/job_record.h"
#include "distributed/job/process_monitor.h"
#include "distributed/launch/progress.h"
#include "distributed/launch/roster.h"
#include "distributed/launch/scale_controller.h"

namespace trireme::distributed {

struct LauncherServicesOptions {
  JobRecord record;  // written by rank 0; its name is that of the job
  ScaleControllerOptions scale_controller;
  std::string go_on = {};  // how to resume the job, for people
  std::string metrics_host = "127.0.0.1";
  int metrics_port = 0;
  // Refused callers of the store of the job, for a launcher that serves it.
  std::function<std::int64_t()> unauthenticated_peers = {};
};

// For one thread.
class LauncherServices {
 public:
  // A record that cannot be written is reported, but is no error. The store, the roster and the
  // supervisor outlive the object. Errors: io if the address for metrics is not available; as
  // Store.
  LauncherServices(const LauncherServicesOptions& options, Store& store, Roster& roster,
                   Supervisor& children);

  // The name of the job: that of its record.
  const std::string& name() const { return name_; }
  int metrics_port() const { return monitor_->port(); }
  // Call it regularly. `all`: the progress of all trainers.
  void poll(const Totals& all);
  const ScaleController& steering() const { return *scale_controller_; }
  // Ends the processes here in order, and answers an order to stop. Calls `then` when the trainers
  // have ended. Returns the result for a job that was ordered to stop.
  std::optional<StopReport> end(const std::function<void()>& then);

 private:
  using Clock = std::chrono::steady_clock;
  void write_record(const LauncherServicesOptions& options);
  void add_metrics(const LauncherServicesOptions& options);
  void publish(const Totals& all);

  Store& store_;
  Roster& roster_;
  Supervisor& children_;
  const std::string prefix_, go_on_;
  std::string name_;
  const bool leads_;
  std::optional<JobEntry> entry_;
  std::optional<ScaleController> scale_controller_;
  JobProgress progress_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point since_ = start_;  // time of the last rate
  Totals before_ = {};
  std::optional<ProcessMonitor> monitor_;
  Counter *restarts_ = nullptr, *examples_ = nullptr, *steps_ = nullptr;
  Gauge *rate_ = nullptr, *loss_ = nullptr;
};

}  // namespace trireme::distributed
