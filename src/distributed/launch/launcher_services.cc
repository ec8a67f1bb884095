#include "distributed/launch/launcher_services.h"

#include "base/error.h"
#include "distributed/job/job_status.h"

namespace trireme::distributed {
namespace {

constexpr std::chrono::seconds kStopTimeout{5};  // in which processes end that are asked to

}  // namespace

LauncherServices::LauncherServices(const LauncherServicesOptions& options, Store& store,
                                   Supervisor& children)
    : store_(store),
      children_(children),
      prefix_(options.scale_controller.prefix),
      go_on_(options.go_on),
      name_(options.record.name) {
  const int rank = options.scale_controller.rank;
  if (rank == 0) {
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
  scale_controller_.emplace(store, options.scale_controller, children);
  monitor_.emplace(ProcessMonitorOptions{.job = name_,
                                         .prefix = prefix_,
                                         .role = "launcher",
                                         .name = "launcher_" + std::to_string(rank),
                                         .host = options.metrics_host,
                                         .port = options.metrics_port},
                   store, rank == 0, options.unauthenticated_peers);
}

void LauncherServices::poll(const Totals& all) {
  scale_controller_->poll();
  monitor_->poll(children_, all);
}

std::optional<StopReport> LauncherServices::end(const std::function<void()>& then) {
  const std::optional<ScaleController::Stop> asked = scale_controller_->stop_asked();
  StopReport report{.go_on = go_on_};
  for (const char* role : {"master", "server", "trainer"}) report.ended += children_.running(role);
  children_.end_trainers(asked ? asked->order.within : kStopTimeout, report.killed);
  then();
  try {
    if (asked) report.tasks = tasks_left(store_, prefix_);
  } catch (const Error&) {  // a store that is away says nothing
  }
  for (std::string& name : children_.end()) report.killed.push_back(std::move(name));
  if (!asked) return std::nullopt;
  try {
    report.last = scale_controller_->last_checkpoint();
  } catch (const Error& error) {
    report.last = LastCheckpoint{.why = error.what()};
  }
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - asked->since).count();
  scale_controller_->stopped(report);
  return report;
}

}  // namespace trireme::distributed
