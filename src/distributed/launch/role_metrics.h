#pragma once

// The metrics of each role. docs/reference/distributed-jobs.md lists them.

#include <memory>
#include <optional>

#include "distributed/job/job_keys.h"
#include "distributed/master/master.h"
#include "distributed/monitor/health.h"
#include "distributed/monitor/registry.h"
#include "distributed/server/client.h"
#include "distributed/server/parameter_server.h"
#include "distributed/strategy/data_parallel.h"

namespace trireme::distributed {

// Of a trainer. One thread calls all functions but stranger(), which any may. Registry and health
// outlive the object.
class TrainerMetrics {
 public:
  TrainerMetrics(Registry& registry, Health& health);

  // Before a step, and when its own batch has been learned. A step without one ends with idle().
  void begin() { began_ = Clock::now(); }
  void step(double loss, std::int64_t examples);
  void idle() { beat_->beat(); }          // took part in a step, or found no task
  void rest() { beat_->rest(); }          // has trained: what it does now may take any time
  void waited();                          // found no task: one look more
  void repeated() { repeated_->add(); }   // has to do a step again
  void stranger() { strangers().add(); }  // was turned away by the trainers' group
  // What others count.
  void group(const DataParallel& parallel);
  void client(const ClientStatistics& statistics);

 private:
  using Clock = std::chrono::steady_clock;
  Counter& strangers();
  Registry& registry_;
  const std::shared_ptr<Heartbeat> beat_;
  Clock::time_point began_ = Clock::now();
  Counter *steps_, *examples_, *repeated_, *waits_;
  Gauge* loss_;
  Histogram* seconds_;
};

// Of checkpoints: whoever makes them tells. One thread calls all functions. The registry outlives
// the object.
class CheckpointMetrics {
 public:
  explicit CheckpointMetrics(Registry& registry);
  void done(std::int64_t number, double seconds, std::uint64_t bytes);
  void failed();

 private:
  Gauge *last_, *seconds_, *bytes_, *at_;
  Counter *made_, *failures_;
};

// Of exports, likewise.
class ExportMetrics {
 public:
  explicit ExportMetrics(Registry& registry);
  void done(std::int64_t number);
  void failed() { failures_->add(); }

 private:
  Gauge* last_;
  Counter *made_, *failures_;
};

// What these hold is read when somebody asks: they outlive the registry's last text().
void watch_server(Registry& registry, ParameterServer& server);
void watch_master(Registry& registry, const Master& master);
// Of a leader, under its name.
TaskState task_state(const Master& master, std::int64_t epochs, const std::string& name);

}  // namespace trireme::distributed
