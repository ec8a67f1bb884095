// The chaos runner: chaos --seeds 20 --seconds 180.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "run.h"
#include "trireme/error.h"

namespace {

using trireme::chaos::CountJob;
using trireme::distributed::RoleOptions;

constexpr const char* kExamples = R"(examples:
  chaos                                  one short run, seed 1
  chaos --first 3 --seeds 1 --verbose    what happens in the run of seed 3
  chaos --seeds 20 --seconds 180 --etcd  20 runs of three minutes, with an etcd that is restarted, too
)";

std::atomic<bool> stop_came = false;

std::string own_path() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "";
}

void print(std::uint64_t seed, const trireme::chaos::Outcome& outcome) {
  std::printf(
      "seed %llu: %s; %.0f s, %lld tasks, %d rollbacks; lost %lld, doubled %lld, sum %+lld\n",
      static_cast<unsigned long long>(seed),
      outcome.well() ? "exact"
      : outcome.hung ? "HUNG"
                     : "WRONG",
      outcome.seconds, static_cast<long long>(outcome.tasks), outcome.rollbacks,
      static_cast<long long>(outcome.verdict.lost), static_cast<long long>(outcome.verdict.doubled),
      static_cast<long long>(outcome.verdict.sum_error));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, [](int) { stop_came = true; });
  CLI::App app(std::string("A job that counts records, under faults.\n\n") + kExamples, "chaos");
  trireme::chaos::RunOptions options;
  std::uint64_t seeds = 1;
  app.add_option("--first", options.seed, "the first seed (1)");
  app.add_option("--seeds", seeds, "how many (1)");
  app.add_option("--seconds", options.seconds, "for which faults happen, in each run (30)");
  app.add_option("--pause", options.pause, "seconds between faults, on average (4)");
  app.add_option("--trainers", options.trainers);
  app.add_option("--servers", options.servers);
  app.add_flag("--etcd", options.etcd, "a real etcd");
  app.add_flag("--verbose", options.verbose);
  CLI::App* const role_command = app.add_subcommand("role")->group("");
  std::string role;
  RoleOptions role_options;
  CountJob job;
  role_command->add_option("role", role);
  role_command->add_option("--name", role_options.name);
  role_command->add_option("--store", role_options.store);
  role_command->add_option("--servers", role_options.servers);
  bool open = false;
  role_command->add_flag("--open", open, "the store asks for no token");
  role_command->add_option("--folder", job.folder);
  role_command->add_option("--epochs", job.epochs);
  CLI11_PARSE(app, argc, argv);
  try {
    if (role_command->parsed()) {
      const char* token = std::getenv("TRIREME_JOB_TOKEN");
      role_options.security.token = token != nullptr ? token : "";
      if (!open) role_options.store_security = role_options.security;
      role_options.prefix = trireme::chaos::kPrefix;
      role_options.stop = [] { return stop_came.load(); };
      trireme::chaos::run_role(role, role_options, job);
      return 0;
    }
    options.program = own_path();
    bool well = true;
    std::map<std::string, std::vector<double>> waits;
    for (const std::uint64_t last = options.seed + seeds; options.seed < last; ++options.seed) {
      const trireme::chaos::Outcome outcome = trireme::chaos::run(options);
      print(options.seed, outcome);
      well = well && outcome.well();
      for (const auto& [fault, all] : outcome.waits) {
        waits[fault].insert(waits[fault].end(), all.begin(), all.end());
      }
    }
    for (auto& [fault, all] : waits) {
      std::sort(all.begin(), all.end());
      std::printf("%-18s %3zu times; until the next task was ended: median %.2f s, most %.2f s\n",
                  fault.c_str(), all.size(), all[all.size() / 2], all.back());
    }
    std::printf("%s\n", well ? "all exact" : "NOT all exact");
    return well ? 0 : 1;
  } catch (const trireme::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 4;
  }
}
