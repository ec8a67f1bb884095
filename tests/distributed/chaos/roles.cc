#include "roles.h"

#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "base/safetensors.h"
#include "distributed/control/testing/count_trainer.h"
#include "tasks.h"
#include "together.h"
#include "trireme/exported_table.h"

namespace trireme::chaos {

using namespace distributed;

namespace {

// The time of a task: two runs at a time leave two cores partly idle.
constexpr Milliseconds kWork{90};

}  // namespace

Milliseconds work_time(const CountJob& job, Milliseconds while_faults_happen) {
  return std::filesystem::exists(job.calm) ? Milliseconds(0) : while_faults_happen;
}

// Four synchronous steps of 10 records, and steps of all-reduce of 40, take at least this,
// including their own time.
double epochs_per_second(const CountJob& job) {
  const double seconds = job.mode == "synchronous"  ? 0.070
                         : job.mode == "all_reduce" ? 0.045
                                                    : std::chrono::duration<double>(kWork).count();
  return static_cast<double>(CountTrainer::kTask) / static_cast<double>(job.records) / seconds;
}

namespace {

void run_trainer_that_counts(const RoleOptions& options, const CountJob& job) {
  const std::unique_ptr<Store> store = open_store(options);
  Network network;
  CountWork work{.prefix = options.prefix,
                 .name = options.name,
                 .security = security_of(options),
                 .records = job.records,
                 .lease = 5,
                 .finished = report_progress,
                 .stop = options.stop,
                 .pause = [&] { return work_time(job, kWork); },
                 .mode = job.mode == "geo" ? Mode::geo : Mode::asynchronous};
  CountTrainer(*store, network, work).run();
}

}  // namespace

void run_role(const std::string& role, const RoleOptions& options, const CountJob& job) {
  const bool together = job.mode == "synchronous" || job.mode == "all_reduce";
  if (role == "trainer") {
    if (job.mode == "synchronous") return count_synchronously(options, job);
    if (job.mode == "all_reduce") return count_by_all_reduce(options, job);
    return run_trainer_that_counts(options, job);
  }
  if (role == "server") return serve(options, {.checkpoints = job.folder});
  if (role != "master") fail_usage("there is no role " + role);
  MasterWork work;
  work.epochs = job.epochs;
  work.tasks = [&](std::int64_t) { return CountTrainer::tasks(job.records); };
  work.checkpoints = job.folder;
  work.every = 1.5;
  work.synchronous = job.mode == "synchronous";
  work.group = job.mode == "all_reduce";
  if (together) work.patience *= 60;  // as run_master()
  work.exports = export_folder(job.folder);
  work.export_every = 1.5;
  work.export_deltas = 3;
  lead(options, work);
}

namespace {

// Of members of an all-reduce: of the first one that ended; all others must have the same.
std::vector<double> counts_of_members(const CountJob& job, Verdict& verdict) {
  std::vector<double> counts;
  for (const auto& file : std::filesystem::directory_iterator(job.folder)) {
    if (!file.path().filename().string().starts_with("counts.")) continue;
    std::vector<double> own = counts_in(file.path(), job.records);
    if (counts.empty()) counts = std::move(own);
    else verdict.unequal += counts == own ? 0 : 1;
  }
  if (counts.empty()) fail_io("no member has left its counts in " + job.folder);
  return counts;
}

std::vector<double> counts_of_servers(Store& store, const Security& security, const CountJob& job,
                                      double& sum) {
  Network network;
  CountTrainer reader(store, network,
                      {.prefix = kPrefix,
                       .name = "checker",
                       .security = security,
                       .records = job.records,
                       .mode = job.mode == "synchronous" ? Mode::synchronous
                               : job.mode == "geo"       ? Mode::geo
                                                         : Mode::asynchronous});
  const CountTrainer::Counts counts = reader.counts();
  // If sums differ, one that is wrong.
  const double right = static_cast<double>(job.records * job.epochs);
  sum = counts.all.front();
  for (const float one : counts.all) {
    if (static_cast<double>(one) != right) sum = one;
  }
  return {counts.rows.begin(), counts.rows.end()};
}

std::int64_t not_served(const CountJob& job, const std::vector<double>& counts, double sum) {
  const std::string folder = export_folder(job.folder);
  const ExportedTable table(folder + "/counts");
  std::vector<std::int64_t> ids(counts.size());
  std::iota(ids.begin(), ids.end(), 0);
  const Tensor rows = table.lookup(ids);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    wrong += static_cast<double>(rows.data<float>()[2 * i]) == counts[i] ? 0 : 1;
  }
  const Tensor all = read_safetensors(folder + "/dense.safetensors").tensors.at("sum_0");
  return wrong + (static_cast<double>(all.data<float>()[0]) == sum ? 0 : 1);
}

}  // namespace

Verdict check(Store& store, const Security& security, const CountJob& job, const Again& again) {
  Verdict verdict;
  double sum = 0;
  std::vector<double> counts;
  if (job.mode == "all_reduce") {
    counts = counts_of_members(job, verdict);
    sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  } else {
    counts = counts_of_servers(store, security, job, sum);
    verdict.not_served = not_served(job, counts, sum);
  }
  for (std::size_t record = 0; record < counts.size(); ++record) {
    const std::int64_t more = std::llround(counts[record]) - job.epochs;
    const auto handed = again.find(static_cast<std::int64_t>(record) / CountTrainer::kTask);
    verdict.lost += more < 0 ? 1 : 0;
    verdict.doubled += more > 0 ? 1 : 0;
    verdict.beyond += more > (handed == again.end() ? 0 : handed->second) ? 1 : 0;
  }
  verdict.sum_error = std::llround(sum) - job.records * job.epochs;
  return verdict;
}

}  // namespace trireme::chaos
