#pragma once

// Of a launcher: all by which its job is watched and steered while it runs. Its record, its orders,
// its metrics.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "distributed/job/job_record.h"
#include "distributed/launch/launch_monitor.h"
#include "distributed/launch/steering.h"

namespace trireme::distributed {

struct JobDeskOptions {
  JobRecord record;  // written by rank 0; its name is the job's
  SteeringOptions steering;
  std::string go_on = {};  // how the job is resumed, for people
  std::string metrics_host = "127.0.0.1";
  int metrics_port = 0;
  // How many callers of the job's store were refused, of a launcher that serves it.
  std::function<std::int64_t()> strangers = {};
};

// One thread calls all functions.
class JobDesk {
 public:
  // A record that cannot be written is told of, no error. The store and the supervisor outlive the
  // object. Errors: as LaunchMonitor and Store.
  JobDesk(const JobDeskOptions& options, Store& store, Supervisor& children);

  // What the job is called: its record's name.
  const std::string& name() const { return name_; }
  int metrics_port() const { return monitor_->port(); }
  // All the time. `all`: what all trainers have done.
  void look(const Totals& all);
  const Steering& steering() const { return *steering_; }
  // Ends what runs here in good order, and tells who asked for it. `then`: called when the trainers
  // have ended. What became of a job that was asked to stop.
  std::optional<StopReport> end(const std::function<void()>& then);

 private:
  Store& store_;
  Supervisor& children_;
  const std::string prefix_, go_on_;
  std::string name_;
  std::optional<JobEntry> entry_;
  std::optional<Steering> steering_;
  std::optional<LaunchMonitor> monitor_;
};

}  // namespace trireme::distributed
