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

// For a trainer. For one thread, except count_unauthenticated_peer(), which is thread-safe.
// Registry and health outlive the object.
class TrainerMetrics {
 public:
  TrainerMetrics(Registry& registry, Health& health);

  // Before a step, and after its own batch. A step without a batch ends with idle().
  void begin() { began_ = Clock::now(); }
  void step(double loss, std::int64_t examples);
  void idle() { beat_->beat(); }         // took part in a step, or found no task
  void rest() { beat_->rest(); }         // training is over: the rest may take any time
  void waited();                         // found no task once more
  void repeated() { repeated_->add(); }  // must repeat a step
  void count_unauthenticated_peer() {
    unauthenticated_peers().add();
  }  // the group of trainers refused a connection
  // Counters of the group.
  void group(const DataParallel& parallel);
  void client(const ClientStatistics& statistics);

 private:
  using Clock = std::chrono::steady_clock;
  Counter& unauthenticated_peers();
  Registry& registry_;
  const std::shared_ptr<Heartbeat> beat_;
  Clock::time_point began_ = Clock::now();
  Counter *steps_, *examples_, *repeated_, *waits_;
  Gauge* loss_;
  Histogram* seconds_;
};

// For checkpoints. For one thread. The registry outlives the object.
class CheckpointMetrics {
 public:
  explicit CheckpointMetrics(Registry& registry);
  void done(std::int64_t number, double seconds, std::uint64_t bytes);
  void failed();

 private:
  Gauge *last_, *seconds_, *bytes_, *at_;
  Counter *made_, *failures_;
};

// For exports, likewise.
class ExportMetrics {
 public:
  explicit ExportMetrics(Registry& registry);
  void done(std::int64_t number);
  void failed() { failures_->add(); }

 private:
  Gauge* last_;
  Counter *made_, *failures_;
};

// Their values are read with each text(); both outlive the last one of the registry.
void watch_server(Registry& registry, ParameterServer& server);
void watch_master(Registry& registry, const Master& master);
// The state of a leader, under its name.
TaskState task_state(const Master& master, std::int64_t epochs, const std::string& name);

}  // namespace trireme::distributed
