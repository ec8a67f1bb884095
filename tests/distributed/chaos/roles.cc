#include "roles.h"

#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "distributed/control/count_trainer_test.h"

namespace trireme::chaos {

using namespace distributed;

namespace {

void run_trainer_that_counts(const RoleOptions& options, const CountJob& job) {
  const std::unique_ptr<Store> store = open_store(options);
  Network network;
  CountWork work{.prefix = options.prefix,
                 .name = options.name,
                 .security = security_of(options),
                 .records = job.records,
                 .lease = 5,
                 .finished =
                     [](std::int64_t tasks) {
                       std::printf("progress %lld\n", static_cast<long long>(tasks));
                       std::fflush(stdout);
                     },
                 .stop = options.stop,
                 .pause = Milliseconds(20)};
  CountTrainer(*store, network, work).run();
}

}  // namespace

void run_role(const std::string& role, const RoleOptions& options, const CountJob& job) {
  if (role == "trainer") return run_trainer_that_counts(options, job);
  if (role == "server") return serve(options, job.folder);
  if (role != "master") fail_usage("there is no role " + role);
  MasterWork work;
  work.epochs = job.epochs;
  work.tasks = [&](std::int64_t) { return CountTrainer::tasks(job.records); };
  work.checkpoints = job.folder;
  work.every = 1.5;
  lead(options, work);
}

Verdict check(Store& store, const Security& security, const CountJob& job) {
  Network network;
  CountTrainer reader(
      store, network,
      {.prefix = kPrefix, .name = "checker", .security = security, .records = job.records});
  const CountTrainer::Counts counts = reader.counts();
  Verdict verdict;
  const auto epochs = static_cast<float>(job.epochs);
  for (const float count : counts.rows) {
    verdict.lost += count < epochs ? 1 : 0;
    verdict.doubled += count > epochs ? 1 : 0;
  }
  verdict.sum_error = std::llround(counts.all) - job.records * job.epochs;
  return verdict;
}

}  // namespace trireme::chaos
