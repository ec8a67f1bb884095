// `trireme job`: what runs, how far it is, and how it is steered.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <thread>

#include "commands.h"
#include "distributed/job/job_commands.h"
#include "distributed/job/job_status.h"

namespace commands {
namespace {

namespace dist = trireme::distributed;

constexpr const char* kExamples = R"(examples:
  trireme job list                        jobs that trireme launch has begun here, and that run
  trireme job status                      of the only one; of several: trireme job status clicks
  trireme job status clicks --watch       again every second, until the job is over
  trireme job status clicks --json        for programs
  trireme job scale clicks --trainers 3   start or end trainers, so that there are three
  trireme job stop clicks                 end it in good order, after a last checkpoint
  trireme job stop clicks --now           without: what was learned since the checkpoint before is lost
)";

struct Options {
  std::string name;
  bool json = false, watch = false;
  int within = 10, checkpoint_within = 120;
  bool now = false;
  dist::Scale scale;
};

void print_status(const dist::OpenJob& job, const Options& options) {
  const dist::JobStatus status = dist::read_status(*job.store, job.record.prefix);
  const std::string text = options.json ? dist::json_of(job.record, status)
                                        : dist::text_of(job.record, status, std::time(nullptr));
  // From the top of an empty screen.
  const bool clear = options.watch && !options.json && ::isatty(1) != 0;
  std::printf("%s%s", clear ? "\033[H\033[2J" : "", text.c_str());
  std::fflush(stdout);
}

void status(const Options& options) {
  const dist::OpenJob job = dist::open_job(dist::jobs_folder(), options.name);
  print_status(job, options);
  while (options.watch && !stop_came()) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    try {
      if (dist::lives(job.record)) print_status(job, options);
    } catch (const dist::Unavailable&) {
      if (dist::lives(job.record)) throw;
    }
    if (!dist::lives(job.record)) {
      std::printf("the job is over\n");
      return;
    }
  }
}

void stop(const Options& options) {
  const dist::OpenJob job = dist::open_job(dist::jobs_folder(), options.name);
  const dist::StopOrder order{std::chrono::seconds(options.within),
                              std::chrono::seconds(options.now ? 0 : options.checkpoint_within)};
  std::printf("%s", dist::text_of(dist::stop_job(job, order)).c_str());
}

void scale(const Options& options) {
  if (!options.scale.trainers && !options.scale.servers) {
    throw CLI::RequiredError("--trainers or --servers");
  }
  const dist::OpenJob job = dist::open_job(dist::jobs_folder(), options.name);
  const auto [before, now] = dist::scale_job(job, options.scale);
  std::printf("%d trainers and %d servers are wanted, instead of %d and %d\n", now.trainers,
              now.servers, before.trainers, before.servers);
}

void list(const Options& options) {
  const std::string folder = dist::jobs_folder();
  const dist::JobListing listing = dist::job_records(folder);
  std::printf(
      "%s",
      (options.json ? dist::json_of(listing) : dist::text_of(listing, std::time(nullptr))).c_str());
  // Those have been told of once.
  for (const dist::JobRecord& record : listing.dead) dist::forget(folder, record);
}

}  // namespace

void add_job(CLI::App& app) {
  static Options options;
  CLI::App* command =
      app.add_subcommand("job", std::string("watch and steer jobs that run\n\n") + kExamples);
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, void (*run)(const Options&)) {
    CLI::App* sub = command->add_subcommand(name, help);
    sub->callback([run] { run(options); });
    return sub;
  };
  const auto add_named = [&](const char* name, const char* help, void (*run)(const Options&)) {
    CLI::App* sub = add(name, help, run);
    sub->add_option("job", options.name, "its name, or how it begins; none: the only one");
    return sub;
  };
  CLI::App* listing = add("list", "jobs of yours that run on this machine", list);
  listing->add_flag("--json", options.json, "print JSON");
  CLI::App* show = add_named("status", "processes, tasks, examples per second, loss", status);
  show->add_flag("--json", options.json, "print JSON");
  show->add_flag("--watch", options.watch, "again every second, until the job is over");
  CLI::App* end = add_named(
      "stop", "end a job in good order, after a last checkpoint: nothing is lost that was learned",
      stop);
  CLI::Option* checkpoint =
      end->add_option("--checkpoint-within", options.checkpoint_within,
                      "seconds for the last checkpoint, after which the job ends without (120)")
          ->check(CLI::Range(1, 3600));
  end->add_flag("--now", options.now, "without a last checkpoint")->excludes(checkpoint);
  end->add_option("--within", options.within, "seconds, after which what still runs is killed (10)")
      ->check(CLI::Range(1, 3600));
  CLI::App* more = add_named("scale", "other numbers of processes, while the job runs", scale);
  more->add_option("--trainers", options.scale.trainers, "that train from now on");
  more->add_option("--servers", options.scale.servers, "parameter servers from now on");
}

}  // namespace commands
