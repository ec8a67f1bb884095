#include "distributed/launch/job_desk.h"

#include "base/error.h"
#include "distributed/job/job_status.h"

namespace trireme::distributed {
namespace {

constexpr std::chrono::seconds kStopTimeout{5};  // in which processes end that are asked to

}  // namespace

JobDesk::JobDesk(const JobDeskOptions& options, Store& store, Supervisor& children)
    : store_(store),
      children_(children),
      prefix_(options.steering.prefix),
      go_on_(options.go_on),
      name_(options.record.name) {
  const int rank = options.steering.rank;
  if (rank == 0) {
    try {
      entry_.emplace(jobs_folder(), options.record);
      name_ = entry_->record().name;
    } catch (const Error& error) {
      if (options.steering.say) {
        options.steering.say(std::string("trireme job will not find this job: ") + error.what());
      }
    }
  }
  steering_.emplace(store, options.steering, children);
  monitor_.emplace(ProcessMonitorOptions{.job = name_,
                                         .prefix = prefix_,
                                         .role = "launcher",
                                         .name = "launcher_" + std::to_string(rank),
                                         .host = options.metrics_host,
                                         .port = options.metrics_port},
                   store, rank == 0, options.strangers);
}

void JobDesk::look(const Totals& all) {
  steering_->look();
  monitor_->look(children_, all);
}

std::optional<StopReport> JobDesk::end(const std::function<void()>& then) {
  const std::optional<Steering::Stop> asked = steering_->stop_asked();
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
    report.last = steering_->last_checkpoint();
  } catch (const Error& error) {
    report.last = LastCheckpoint{.why = error.what()};
  }
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - asked->since).count();
  steering_->stopped(report);
  return report;
}

}  // namespace trireme::distributed
