// The master of a job as a process.

#include "distributed/master/master.h"

#include <cstdio>
#include <optional>
#include <thread>

#include "base/error.h"
#include "distributed/control/group_control.h"
#include "distributed/control/job_control.h"
#include "distributed/coordination/membership.h"
#include "distributed/launch/program_work.h"
#include "distributed/launch/role.h"
#include "distributed/launch/role_metrics.h"
#include "distributed/launch/task_reader.h"
#include "trireme/job.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kPause{50};

bool stopped(const RoleOptions& options) { return options.stop && options.stop(); }

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

JobControlOptions control_of(const RoleOptions& options, const MasterWork& work,
                             CheckpointMetrics& metrics) {
  JobControlOptions control;
  control.prefix = options.prefix;
  control.servers = options.servers;
  control.synchronous = work.synchronous;
  control.security = security_of(options);
  control.folder = work.checkpoints;
  control.every = work.every;
  control.keep = work.keep;
  control.resume = work.resume;
  control.ageing = work.ageing;
  control.say = say;
  control.saved = [&metrics](std::int64_t checkpoint, double seconds, std::uint64_t bytes) {
    metrics.done(checkpoint, seconds, bytes);
  };
  control.not_saved = [&metrics] { metrics.failed(); };
  return control;
}

}  // namespace

void lead(const RoleOptions& options, const MasterWork& work) {
  const std::unique_ptr<Store> store = open_store(options);
  MasterOptions master;
  master.prefix = options.prefix;
  master.server.address = listening_address(options);
  master.server.security = security_of(options);
  master.host = options.host;
  master.epochs = work.epochs;
  master.tasks = work.tasks;
  master.hold = options.servers > 0 || work.group;
  master.least = work.patience;
  master.describe = work.describe;
  master.say = say;
  Master running(*store, master);
  ProcessMonitor monitor(monitor_of(options, "master"));
  watch_master(monitor.registry(), running);
  monitor.publish(tasks_key(options.prefix),
                  [&] { return text_of(task_state(running, work.epochs)); });
  monitor.start(*store);
  std::optional<CheckpointMetrics> checkpoints;
  if (master.hold) checkpoints.emplace(monitor.registry());
  std::optional<JobControl> control;
  std::optional<GroupControl> group;
  if (options.servers > 0)
    control.emplace(*store, running, control_of(options, work, *checkpoints));
  else if (work.group) group.emplace(*store, running, control_of(options, work, *checkpoints));
  Membership members(*store, options.prefix);
  while (!stopped(options)) {
    if (control) control->look();
    if (group) group->look();
    if (const auto why = running.hopeless()) fail_data(*why);
    if (options.until_done && running.finished() && members.members("trainer").empty()) return;
    std::this_thread::sleep_for(kPause);
  }
}

namespace {

// None, if rows stay whatever becomes of them.
std::optional<Ageing> ageing_of(const Distribution::Eviction& how) {
  if (how.unused_for == 0 && how.below == 0) return std::nullopt;
  return Ageing{.tick_tasks = how.tick_tasks,
                .eviction = {.show_weight = how.show_weight,
                             .click_weight = how.click_weight,
                             .below = how.below,
                             .unused_for = static_cast<int>(how.unused_for)}};
}

MasterWork master_work(const ProgramWork& told) {
  const Distribution& how = told.how;
  MasterWork work;
  work.epochs = told.epochs;
  work.tasks = [=, count = told.batches](std::int64_t) {
    return tasks_of(count, how.task_batches);
  };
  work.describe = [](const Task& task) { return described(range_of(task.data)); };
  if (how.checkpoint_seconds > 0) work.checkpoints = told.checkpoints;
  work.synchronous = how.mode == Distribution::Mode::synchronous;
  work.group = how.mode == Distribution::Mode::all_reduce;
  // All take each step together, so nobody is behind.
  if (work.synchronous || work.group || how.staleness > 0) work.patience *= 60;
  work.every = how.checkpoint_seconds;
  work.keep = static_cast<int>(how.checkpoint_keep);
  work.resume = how.resume;
  work.ageing = ageing_of(how.eviction);
  return work;
}

ProgramWork work_of_job(const RoleOptions& options) {
  Job job = Job::read(options.job, {.set = options.set, .output = options.output, .threads = 1});
  return {.batches = job.train_data().size(),
          .epochs = job.epochs(),
          .checkpoints = checkpoint_folder(job.output_directory()),
          .how = job.distribution()};
}

}  // namespace

void run_master(const RoleOptions& options) {
  if (!options.program) return lead(options, master_work(work_of_job(options)));
  const std::optional<ProgramWork> work =
      await_work(*open_store(options), options.prefix, options.stop);
  if (work) lead(options, master_work(*work));
}

}  // namespace trireme::distributed
