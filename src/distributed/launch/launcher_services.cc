#include "distributed/launch/launcher_services.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "distributed/job/job_status.h"

namespace trireme::distributed {
namespace {

constexpr std::chrono::seconds kStopTimeout{5};  // in which processes end that are asked to
constexpr std::chrono::seconds kRateWindow{2};   // over which a rate is taken

// All processes below a prefix, in the format of HTTP discovery of Prometheus.
std::string targets(Store& store, const std::string& job_name, const std::string& prefix) {
  nlohmann::json all = nlohmann::json::array();
  for (const ProcessEntry& process : ProcessRegistry(store, prefix).list()) {
    all.push_back(
        {{"targets", {process.metrics}},
         {"labels", {{"job", job_name}, {"role", process.role}, {"name", process.name}}}});
  }
  return all.dump();
}

}  // namespace

LauncherServices::LauncherServices(const LauncherServicesOptions& options, Store& store,
                                   Roster& roster, Supervisor& children)
    : store_(store),
      roster_(roster),
      children_(children),
      prefix_(options.scale_controller.prefix),
      go_on_(options.go_on),
      name_(options.record.name),
      leads_(options.scale_controller.rank == 0) {
  if (leads_) write_record(options);
  scale_controller_.emplace(store, options.scale_controller, children);
  monitor_.emplace(
      ProcessMonitorOptions{.job = name_,
                            .role = "launcher",
                            .name = "launcher_" + std::to_string(options.scale_controller.rank),
                            .host = options.metrics_host,
                            .port = options.metrics_port});
  add_metrics(options);
  monitor_->start({{"/targets", [&store, name = name_, prefix = prefix_] {
                      return Page{.type = "application/json", .text = targets(store, name, prefix)};
                    }}});
  roster_.join(monitor_->entry());
}

void LauncherServices::write_record(const LauncherServicesOptions& options) {
  try {
    entry_.emplace(jobs_folder(), options.record);
    name_ = entry_->record().name;
  } catch (const Error& error) {
    if (options.scale_controller.say) {
      options.scale_controller.say(std::string("trireme job will not find this job: ") +
                                   error.what());
    }
  }
}

void LauncherServices::add_metrics(const LauncherServicesOptions& options) {
  Registry& registry = monitor_->registry();
  restarts_ = &registry.counter("trireme_launcher_restarts_total",
                                "Restarted processes: replacements of processes that failed.");
  rate_ = &registry.gauge("trireme_job_examples_per_second",
                          "Examples per second of all trainers, recently.");
  loss_ = &registry.gauge("trireme_job_loss", "Recent mean over the batches of all trainers.");
  examples_ = &registry.counter("trireme_job_examples_total", "Examples of all trainers.");
  steps_ = &registry.counter("trireme_job_steps_total", "Batches of all trainers.");
  if (!options.unauthenticated_peers) return;
  registry.collect(
      MetricKind::counter, "trireme_store_unauthenticated_peers_total",
      "Refused callers of the store of the job: without its token.",
      [count = options.unauthenticated_peers] { return static_cast<double>(count()); });
  registry.keep_old_name("trireme_store_unauthenticated_peers_total",
                         "trireme_store_strangers_total");
}

void LauncherServices::poll(const Totals& all) {
  scale_controller_->poll();
  publish(all);
}

void LauncherServices::publish(const Totals& all) {
  for (const char* role : {"master", "server", "trainer"}) {
    monitor_->registry()
        .gauge("trireme_launcher_processes", "Processes that this launcher runs, by role.",
               {{"role", role}})
        .set(children_.running(role));
  }
  restarts_->raise_to(static_cast<std::uint64_t>(children_.restarts()));
  examples_->raise_to(static_cast<std::uint64_t>(all.examples));
  steps_->raise_to(static_cast<std::uint64_t>(all.steps));
  const auto now = Clock::now();
  if (now - since_ >= kRateWindow) {
    const double seconds = std::chrono::duration<double>(now - since_).count();
    progress_.rate = static_cast<double>(all.examples - before_.examples) / seconds;
    progress_.loss.reset();
    if (all.steps > before_.steps) {
      progress_.loss = (all.losses - before_.losses) / (all.steps - before_.steps);
      loss_->set(*progress_.loss);
    }
    rate_->set(progress_.rate);
    before_ = all;
    since_ = now;
  }
  progress_.examples = all.examples;
  progress_.steps = static_cast<std::int64_t>(all.steps);
  // In whole seconds, so that it is written rarely.
  progress_.seconds =
      static_cast<double>(std::chrono::duration_cast<std::chrono::seconds>(now - start_).count());
  if (leads_) roster_.publish(progress_key(prefix_), text_of(progress_));
}

std::optional<StopReport> LauncherServices::end(const std::function<void()>& then) {
  OrdersState asked = scale_controller_->orders();
  StopReport report{.go_on = go_on_};
  for (const char* role : {"master", "server", "trainer"}) report.ended += children_.running(role);
  children_.end_trainers(asked.stop ? asked.stop->within : kStopTimeout, report.killed);
  then();
  try {
    if (asked.stop) report.tasks = tasks_left(store_, prefix_);
  } catch (const Error&) {  // the store does not answer; the report says so
  }
  for (std::string& name : children_.end()) report.killed.push_back(std::move(name));
  if (!asked.stop) return std::nullopt;
  asked = scale_controller_->orders();
  try {
    report.last = asked.last_checkpoint();
  } catch (const Error& error) {
    report.last = LastCheckpoint{.why = error.what()};
  }
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - asked.since).count();
  scale_controller_->stopped(report);
  return report;
}

}  // namespace trireme::distributed
