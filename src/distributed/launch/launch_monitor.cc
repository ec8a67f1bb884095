#include "distributed/launch/launch_monitor.h"

#include <nlohmann/json.hpp>

namespace trireme::distributed {
namespace {

constexpr std::chrono::seconds kWindow{2};  // over which a rate is taken

}  // namespace

LaunchMonitor::LaunchMonitor(const ProcessMonitorOptions& options, Store& store, bool leads,
                             const std::function<std::int64_t()>& unauthenticated_peers)
    : monitor_(options) {
  Registry& registry = monitor_.registry();
  restarts_ = &registry.counter("trireme_launcher_restarts_total",
                                "Restarted processes: replacements of processes that failed.");
  rate_ = &registry.gauge("trireme_job_examples_per_second",
                          "Examples per second of all trainers, recently.");
  loss_ = &registry.gauge("trireme_job_loss", "Recent mean over the batches of all trainers.");
  examples_ = &registry.counter("trireme_job_examples_total", "Examples of all trainers.");
  steps_ = &registry.counter("trireme_job_steps_total", "Batches of all trainers.");
  if (unauthenticated_peers) {
    registry.collect(
        MetricKind::counter, "trireme_store_unauthenticated_peers_total",
        "Refused callers of the store of the job: without its token.",
        [unauthenticated_peers] { return static_cast<double>(unauthenticated_peers()); });
    registry.keep_old_name("trireme_store_unauthenticated_peers_total",
                           "trireme_store_strangers_total");
  }
  if (leads) {
    monitor_.publish(progress_key(options.prefix), [shared = shared_] {
      const std::lock_guard lock(shared->mutex);
      return text_of(shared->progress);
    });
  }
  monitor_.start(store, {{"/targets", [&store, options] {
                            return Page{.type = "application/json",
                                        .text = targets(store, options.job, options.prefix)};
                          }}});
}

void LaunchMonitor::poll(const Supervisor& children, const Totals& all) {
  for (const char* role : {"master", "server", "trainer"}) {
    monitor_.registry()
        .gauge("trireme_launcher_processes", "Processes that this launcher runs, by role.",
               {{"role", role}})
        .set(children.running(role));
  }
  restarts_->raise_to(static_cast<std::uint64_t>(children.restarts()));
  examples_->raise_to(static_cast<std::uint64_t>(all.examples));
  steps_->raise_to(static_cast<std::uint64_t>(all.steps));
  const auto now = Clock::now();
  const std::lock_guard lock(shared_->mutex);
  JobProgress& progress = shared_->progress;
  if (now - since_ >= kWindow) {
    const double seconds = std::chrono::duration<double>(now - since_).count();
    progress.rate = static_cast<double>(all.examples - before_.examples) / seconds;
    progress.loss.reset();
    if (all.steps > before_.steps) {
      progress.loss = (all.losses - before_.losses) / (all.steps - before_.steps);
      loss_->set(*progress.loss);
    }
    rate_->set(progress.rate);
    before_ = all;
    since_ = now;
  }
  progress.examples = all.examples;
  progress.steps = static_cast<std::int64_t>(all.steps);
  // In whole seconds, so that it is written rarely.
  progress.seconds =
      static_cast<double>(std::chrono::duration_cast<std::chrono::seconds>(now - start_).count());
}

std::string targets(Store& store, const std::string& job_name, const std::string& prefix) {
  nlohmann::json all = nlohmann::json::array();
  for (const ProcessEntry& process : processes(store, prefix)) {
    all.push_back(
        {{"targets", {process.metrics}},
         {"labels", {{"job", job_name}, {"role", process.role}, {"name", process.name}}}});
  }
  return all.dump();
}

}  // namespace trireme::distributed
