// The master of a job as a process.

#include "distributed/master/master.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "distributed/control/group_control.h"
#include "distributed/control/job_control.h"
#include "distributed/launch/program_work.h"
#include "distributed/launch/role.h"
#include "distributed/launch/role_metrics.h"
#include "distributed/launch/standalone_master.h"
#include "distributed/launch/task_reader.h"
#include "trireme/job.h"

namespace trireme::distributed {
namespace {

constexpr Milliseconds kMasterPoll{50};
constexpr Milliseconds kReportInterval{500};  // between two reports of the progress of tasks
constexpr Milliseconds kMasterStoreTimeout{
    2000};  // in which the store of the tasks answers: trainers wait for it

bool stopped(const RoleOptions& options) { return options.stop && options.stop(); }

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

JobControlOptions control_of(const RoleOptions& options, const MasterWork& work,
                             CheckpointMetrics& metrics, ExportMetrics& exports) {
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
  control.exports = {work.exports, work.export_every, work.export_deltas};
  control.exported = [&exports](std::int64_t number) { exports.done(number); };
  control.not_exported = [&exports] { exports.failed(); };
  return control;
}

// Publishes the progress of the leader. For one thread.
class TaskReport {
 public:
  TaskReport(Master& master, std::string key, std::int64_t epochs, std::string name)
      : master_(master), key_(std::move(key)), epochs_(epochs), name_(std::move(name)) {}

  // Call it regularly.
  void poll() try {
    if (std::chrono::steady_clock::now() < next_) return;
    next_ = std::chrono::steady_clock::now() + kReportInterval;
    const std::optional<Leadership> leads = master_.leadership();
    if (!leads) return;
    std::string text = text_of(task_state(master_, epochs_, name_));
    // Each leadership has a lease of its own.
    if (text == written_ && leads->epoch == epoch_) return;
    master_.publish(key_, text);
    written_ = std::move(text);
    epoch_ = leads->epoch;
  } catch (const Unavailable&) {  // at the next look
  }

 private:
  Master& master_;
  const std::string key_;
  const std::int64_t epochs_;
  const std::string name_;
  std::chrono::steady_clock::time_point next_ = {};
  std::string written_;
  std::uint64_t epoch_ = 0;  // of the leadership
};

}  // namespace

void lead(const RoleOptions& options, const MasterWork& work) {
  const std::unique_ptr<Store> store = open_store(options),
                               tasks = open_store(options, kMasterStoreTimeout);
  std::optional<Master> leader;  // outlives the pages, which read it
  ProcessMonitor monitor(monitor_of(options, "master"));
  monitor.start();
  MasterOptions master;
  master.prefix = options.prefix;
  master.process = monitor.entry();
  master.server.address = listening_address(options);
  master.server.security = security_of(options);
  master.host = options.host;
  master.epochs = work.epochs;
  master.tasks = work.tasks;
  master.hold = options.servers > 0 || work.group;
  master.min_timeout = work.patience;
  master.describe = work.describe;
  master.say = say;
  Master& running = leader.emplace(*tasks, master);
  watch_master(monitor.registry(), running);
  TaskReport report(running, tasks_key(options.prefix), work.epochs, options.name);
  std::optional<CheckpointMetrics> checkpoints;
  if (master.hold) checkpoints.emplace(monitor.registry());
  ExportMetrics exports(monitor.registry());
  std::optional<JobControl> control;
  std::optional<GroupControl> group;
  if (options.servers > 0)
    control.emplace(*store, running, control_of(options, work, *checkpoints, exports));
  else if (work.group)
    group.emplace(*store, running, control_of(options, work, *checkpoints, exports));
  std::optional<StandaloneMaster> unattended;
  if (options.until_done) unattended.emplace(*store, options);
  while (!stopped(options)) {
    if (unattended && unattended->over()) return;
    if (control) control->poll();
    if (group) group->poll();
    report.poll();
    running.check();
    if (const auto why = running.hopeless()) fail_data(*why);
    std::this_thread::sleep_for(kMasterPoll);
  }
}

namespace {

// None if rows are never removed.
std::optional<Ageing> ageing_of(const Distribution::Eviction& how) {
  if (how.unused_for == 0 && how.below == 0) return std::nullopt;
  return Ageing{.tick_tasks = how.tick_tasks,
                .eviction = {.show_weight = how.show_weight,
                             .click_weight = how.click_weight,
                             .below = how.below,
                             .unused_for = static_cast<int>(how.unused_for)}};
}

// Keeps only the first batches: those of one process in `steps` steps.
void end_after(MasterWork& work, std::int64_t steps, const ProgramWork& told) {
  const std::int64_t each = told.batches, size = told.how.task_batches;
  work.epochs = std::min(work.epochs, (steps + each - 1) / each);
  work.tasks = [=](std::int64_t epoch) {
    return tasks_of(std::min(each, steps - (epoch - 1) * each), size);
  };
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
  if (how.export_seconds > 0) work.exports = told.exports;
  work.synchronous = how.mode == Distribution::Mode::synchronous;
  work.group = how.mode == Distribution::Mode::all_reduce;
  // All take each step together, so no trainer is late.
  if (work.synchronous || work.group || how.staleness > 0) work.patience *= 60;
  work.every = how.checkpoint_seconds;
  work.keep = static_cast<int>(how.checkpoint_keep);
  work.resume = how.resume;
  work.ageing = ageing_of(how.eviction);
  work.export_every = how.export_seconds;
  work.export_deltas = how.export_deltas;
  if (told.max_steps > 0 && told.batches > 0) end_after(work, told.max_steps, told);
  return work;
}

ProgramWork read_job(const RoleOptions& options) {
  Job job = Job::read(options.job, {.set = options.set, .output = options.output, .threads = 1});
  return {.batches = job.train_data().size(),
          .epochs = job.epochs(),
          .max_steps = job.max_steps(),
          .checkpoints = checkpoint_folder(job.output_directory()),
          .exports = export_folder(job.output_directory()),
          .how = job.distribution()};
}

// Reading the data may take minutes. So the first master stores what it found for its successors,
// with a mark of the source.
ProgramWork work_of_job(const RoleOptions& options) {
  const std::unique_ptr<Store> store = open_store(options);
  const std::string key = options.prefix + "job-work";
  std::string source = read_file(options.job) + '\0' + options.output;
  for (const std::string& setting : options.set) source += '\0' + setting;
  const std::string mark = checksum(source) + " ";
  const std::optional<Entry> known = store->get(key);
  if (known && known->value.starts_with(mark)) {
    return program_work_of(known->value.substr(mark.size()));
  }
  ProgramWork work = read_job(options);
  store->put(key, mark + text_of(work));
  return work;
}

}  // namespace

void run_master(const RoleOptions& options) {
  if (!options.program) return lead(options, master_work(work_of_job(options)));
  const std::unique_ptr<Store> store = open_store(options);
  std::optional<StandaloneMaster> unattended;
  if (options.until_done) unattended.emplace(*store, options);
  const std::optional<ProgramWork> work = await_work(*store, options.prefix, [&] {
    return stopped(options) || (unattended && unattended->over());
  });
  if (work) lead(options, master_work(*work));
}

}  // namespace trireme::distributed
