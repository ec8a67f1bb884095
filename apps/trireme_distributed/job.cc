// `trireme job`: lists, shows and controls running jobs.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "commands.h"
#include "distributed/job/job_address.h"
#include "distributed/job/job_commands.h"
#include "distributed/job/job_status.h"

namespace commands {
namespace {

namespace dist = trireme::distributed;

constexpr const char* kExamples = R"(examples:
  trireme job list                        running jobs that trireme launch started on this machine
  trireme job status                      the only running job
  trireme job status clicks --watch       refresh every second until the job ends
  trireme job status clicks --json        as JSON
  trireme job scale clicks --trainers 3   change the number of trainers to three
  trireme job stop clicks                 write a last checkpoint, then stop
  trireme job stop clicks --now           stop without a checkpoint; updates since the previous one are lost
  trireme job schema                      the JSON Schema of job files, for editors
from other machines, with the address of the etcd or launcher that keeps the keys of the job:
  trireme job list --etcd 10.0.0.5:2379 --etcd-credentials keys
  trireme job status clicks --etcd 10.0.0.5:2379 --etcd-credentials keys      --id 7 selects one of several
  trireme job status --store 10.0.0.1:29500 --credentials keys                launcher 0: MASTER_ADDR:MASTER_PORT
on Kubernetes (kubectl scale starts and stops pods):
  kubectl exec job/clicks-master -- trireme job stop clicks --etcd clicks-etcd:2379 --etcd-credentials /credentials
)";

struct Options {
  std::string name;
  dist::JobAddress address;
  bool json = false, watch = false;
  int within = 10, checkpoint_within = 120;
  bool now = false;
  dist::Scale scale;
};

dist::OpenJob open(const Options& options) {
  const dist::JobAddress& address = options.address;
  if (address.given()) return dist::open_job(address, options.name);
  if (!address.prefix.empty() || !address.id.empty() || !address.credentials.empty() ||
      !address.etcd_credentials.empty()) {
    throw CLI::RequiredError("--etcd or --store, the address of the keys of the job,");
  }
  return dist::open_job(dist::jobs_folder(), options.name);
}

void print_status(const dist::OpenJob& job, const Options& options) {
  const dist::JobStatus status = dist::read_status(*job.store, job.record.prefix);
  const std::string text = options.json ? dist::json_of(job.record, status)
                                        : dist::text_of(job.record, status, std::time(nullptr));
  // Clears the screen before each refresh.
  const bool clear = options.watch && !options.json && ::isatty(1) != 0;
  std::printf("%s%s", clear ? "\033[H\033[2J" : "", text.c_str());
  std::fflush(stdout);
}

// Prints it, if the job is not over.
bool print_if_it_lives(const dist::OpenJob& job, const Options& options) {
  try {
    if (!dist::lives(job)) return false;
    print_status(job, options);
  } catch (const dist::Unavailable&) {
    if (job.by_store || dist::lives(job.record)) throw;
    return false;
  }
  return true;
}

void status(const Options& options) {
  const dist::OpenJob job = open(options);
  print_status(job, options);
  while (options.watch && !stop_came()) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    if (print_if_it_lives(job, options)) continue;
    std::printf("the job has ended\n");
    return;
  }
}

void stop(const Options& options) {
  const dist::OpenJob job = open(options);
  const dist::StopOrder order{std::chrono::seconds(options.within),
                              std::chrono::seconds(options.now ? 0 : options.checkpoint_within)};
  std::printf("%s", dist::text_of(dist::stop_job(job, order)).c_str());
}

void scale(const Options& options) {
  if (!options.scale.trainers && !options.scale.servers) {
    throw CLI::RequiredError("--trainers or --servers");
  }
  const dist::OpenJob job = open(options);
  const dist::Scaled scaled = dist::scale_job(job, options.scale);
  const auto [before, now] = scaled;
  std::printf("%d trainers and %d servers are wanted, instead of %d and %d\n%s", now.trainers,
              now.servers, before.trainers, before.servers,
              dist::text_of_rest(job, scaled).c_str());
}

void list_stored(const Options& options) {
  const auto store = dist::open_store(options.address, std::chrono::seconds(3));
  const std::vector<dist::StoredJob> jobs = dist::stored_jobs(*store);
  std::printf(
      "%s", (options.json ? dist::json_of(jobs) : dist::text_of(jobs, std::time(nullptr))).c_str());
}

void list(const Options& options) {
  if (!options.address.etcd.empty()) return list_stored(options);
  const std::string folder = dist::jobs_folder();
  const dist::JobListing listing = dist::job_records(folder);
  std::printf(
      "%s",
      (options.json ? dist::json_of(listing) : dist::text_of(listing, std::time(nullptr))).c_str());
  // These have been reported once.
  for (const dist::JobRecord& record : listing.dead) dist::forget(folder, record);
}

// Where the job's keys are, of one without a record here.
void add_address(CLI::App& command, dist::JobAddress& address, bool of_one) {
  const std::string group = "Jobs without a record here";
  const auto add = [&](const char* name, std::string& value, const char* help) {
    return command.add_option(name, value, help)->group(group);
  };
  CLI::Option* etcd =
      add("--etcd", address.etcd, "HOST:PORT[,HOST:PORT] of the etcd with the keys of the job");
  add("--etcd-credentials", address.etcd_credentials, "folder with the certificates for etcd");
  add("--credentials", address.credentials, "folder with the certificates of the job");
  if (!of_one) return;
  add("--store", address.store,
      "HOST:PORT of launcher 0, which keeps the keys of a job without etcd")
      ->excludes(etcd);
  CLI::Option* id =
      add("--id", address.id,
          "identifier of one of several jobs with the same name (keys trireme/NAME/ID/)");
  add("--prefix", address.prefix, "prefix of the keys of the job, instead of name and identifier")
      ->excludes(id);
}

}  // namespace

void add_job(CLI::App& app) {
  static Options options;
  CLI::App* command =
      app.add_subcommand("job", std::string("list, show and control running jobs\n\n") + kExamples);
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, void (*run)(const Options&)) {
    CLI::App* sub = command->add_subcommand(name, help);
    sub->callback([run] { run(options); });
    return sub;
  };
  const auto add_named = [&](const char* name, const char* help, void (*run)(const Options&)) {
    CLI::App* sub = add(name, help, run);
    sub->add_option("job,--name", options.name,
                    "name of the job, or its beginning (default: the only running job)");
    add_address(*sub, options.address, true);
    return sub;
  };
  CLI::App* listing = add(
      "list", "list your running jobs on this machine; with --etcd all jobs of that etcd", list);
  listing->add_flag("--json", options.json, "print JSON");
  add_address(*listing, options.address, false);
  CLI::App* show =
      add_named("status", "show processes, tasks, examples per second and loss", status);
  show->add_flag("--json", options.json, "print JSON");
  show->add_flag("--watch", options.watch, "refresh every second until the job ends");
  CLI::App* end =
      add_named("stop", "stop a job after a last checkpoint, so that no update is lost", stop);
  CLI::Option* checkpoint =
      end->add_option("--checkpoint-within", options.checkpoint_within,
                      "maximum time for the last checkpoint, in seconds (120)")
          ->check(CLI::Range(1, 3600));
  end->add_flag("--now", options.now, "stop without a last checkpoint")->excludes(checkpoint);
  end->add_option("--within", options.within,
                  "seconds after which processes that still run are killed (10)")
      ->check(CLI::Range(1, 3600));
  CLI::App* more = add_named("scale", "change the numbers of processes while the job runs", scale);
  more->add_option("--trainers", options.scale.trainers,
                   "number of trainers; without a launcher, you start and stop them yourself");
  more->add_option("--servers", options.scale.servers,
                   "number of parameter servers; the master moves their rows");
}

}  // namespace commands
