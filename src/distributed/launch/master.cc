// The master of a job as a process.

#include "distributed/master/master.h"

#include <cstdio>
#include <optional>
#include <thread>

#include "distributed/control/job_control.h"
#include "distributed/coordination/membership.h"
#include "distributed/launch/role.h"
#include "distributed/launch/task_reader.h"
#include "trireme/job.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kPause{50};

bool stopped(const RoleOptions& options) { return options.stop && options.stop(); }

JobControlOptions control_of(const RoleOptions& options, const Job& job) {
  const Distribution how = job.distribution();
  JobControlOptions control;
  control.prefix = options.prefix;
  control.servers = options.servers;
  control.synchronous = how.mode == Distribution::Mode::synchronous;
  control.security = security_of(options);
  if (how.checkpoint_seconds > 0) control.folder = checkpoint_folder(job.output_directory());
  control.every = how.checkpoint_seconds;
  control.keep = static_cast<int>(how.checkpoint_keep);
  control.resume = how.resume;
  control.say = [](const std::string& text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  };
  return control;
}

}  // namespace

void run_master(const RoleOptions& options) {
  const std::unique_ptr<Store> store = open_store(options);
  Job job = Job::read(options.job, {.set = options.set, .output = options.output, .threads = 1});
  const std::int64_t task_batches = job.distribution().task_batches;
  const std::int64_t count = job.train_data().size();
  MasterOptions master;
  master.prefix = options.prefix;
  master.server.address = listening_address(options);
  master.server.security = security_of(options);
  master.host = options.host;
  master.epochs = job.epochs();
  master.tasks = [=](std::int64_t) { return tasks_of(count, task_batches); };
  master.hold = options.servers > 0;
  Master running(*store, master);
  std::optional<JobControl> control;
  if (options.servers > 0) control.emplace(*store, running, control_of(options, job));
  Membership members(*store, options.prefix);
  while (!stopped(options)) {
    if (control) control->look();
    if (options.until_done && running.finished() && members.members("trainer").empty()) return;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace trireme::distributed
