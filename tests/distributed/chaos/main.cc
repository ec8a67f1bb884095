// The chaos runner: chaos --seeds 20 --seconds 180.

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "distributed/placement/authority.h"
#include "run.h"
#include "trireme/error.h"

namespace {

using trireme::chaos::CountJob;
using trireme::chaos::Fault;
using trireme::chaos::Outcome;
using trireme::chaos::RunOptions;
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

const char* word_for(const Outcome& outcome) {
  if (outcome.hung) return "HUNG";
  if (!outcome.well) return "WRONG";
  return outcome.verdict.kept("asynchronous") ? "exact" : "kept";
}

void print(std::uint64_t seed, const Outcome& outcome) {
  const trireme::chaos::Verdict& verdict = outcome.verdict;
  std::printf(
      "%s",
      fmt::format(
          "seed {}: {}; {:.0f} s, {} faults, {} tasks, {} again, {} rollbacks, {} checkpoints "
          "not written, two masters {} times; lost {}, doubled {}, beyond {}, sum {:+}, "
          "unequal {}, not served {}\n",
          seed, word_for(outcome), outcome.seconds, outcome.faults, outcome.tasks, outcome.again,
          outcome.rollbacks, outcome.no_checkpoints, outcome.two_masters, verdict.lost,
          verdict.doubled, verdict.beyond, verdict.sum_error, verdict.unequal, verdict.not_served)
          .c_str());
  std::fflush(stdout);
}

using Waits = std::map<std::string, std::vector<double>>;

void print(Waits& waits) {
  for (auto& [what, all] : waits) {
    std::sort(all.begin(), all.end());
    const bool told = what.find(':') != std::string::npos;  // what was waited for
    std::printf("%-34s %3zu times; %smedian %.2f s, most %.2f s\n", what.c_str(), all.size(),
                told ? "" : "until the next task was ended: ", all[all.size() / 2], all.back());
  }
}

bool run_all(RunOptions options, std::uint64_t seeds) {
  std::vector<std::string> left_out;
  const std::vector<Fault> faults = trireme::chaos::possible_faults(options, left_out);
  std::string names;
  for (const Fault fault : faults) names += std::string(names.empty() ? "" : ", ") + name_of(fault);
  std::printf("faults: %s\n", names.c_str());
  for (const std::string& text : left_out) std::printf("left out: %s\n", text.c_str());
  bool well = true, exact = true;
  Waits waits;
  for (const std::uint64_t last = options.seed + seeds; options.seed < last; ++options.seed) {
    const Outcome outcome = trireme::chaos::run(options);
    print(options.seed, outcome);
    well = well && outcome.well;
    exact = exact && outcome.verdict.kept("asynchronous");
    for (const auto& [fault, all] : outcome.waits) {
      waits[fault].insert(waits[fault].end(), all.begin(), all.end());
    }
  }
  print(waits);
  std::printf("%s\n", !well ? "NOT all right" : exact ? "all exact" : "all right");
  return well;
}

void run_role(const std::string& role, RoleOptions options, const std::string& credentials,
              bool open, const CountJob& job) {
  if (credentials.empty()) {
    const char* token = std::getenv("TRIREME_JOB_TOKEN");
    options.security.token = token != nullptr ? token : "";
  } else {
    options.security = trireme::distributed::read_credentials(
        credentials, trireme::distributed::seconds_since_1970());
  }
  if (!open) options.store_security = options.security;
  options.prefix = trireme::chaos::kPrefix;
  options.stop = [] { return stop_came.load(); };
  trireme::chaos::run_role(role, options, job);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, [](int) { stop_came = true; });
  CLI::App app(std::string("A job that counts records, under faults.\n\n") + kExamples, "chaos");
  RunOptions options;
  std::uint64_t seeds = 1;
  std::vector<std::string> faults;
  app.add_option("--first", options.seed, "the first seed (1)");
  app.add_option("--seeds", seeds, "how many (1)");
  app.add_option("--seconds", options.seconds, "for which faults happen, in each run (30)");
  app.add_option("--pause", options.pause, "seconds between faults, on average (4)");
  app.add_option("--mode", options.job.mode,
                 "asynchronous, synchronous or all_reduce (asynchronous)")
      ->check(CLI::IsMember({"asynchronous", "synchronous", "all_reduce"}));
  CLI::Option* const trainers =
      app.add_option("--trainers", options.trainers, "(2; all_reduce: 3)");
  app.add_option("--servers", options.servers, "(2)");
  app.add_option("--masters", options.masters, "one leads, the others stand by (2)");
  app.add_option("--faults", faults, "only these: \"kill server\",\"slow link\"")->delimiter(',');
  app.add_flag("--etcd", options.etcd, "a real etcd");
  app.add_option("--host", options.host, "where all listen, with certificates; without proxies");
  app.add_option("--trainers-in", options.namespace_, "a network namespace: see namespaces.sh");
  app.add_flag("--verbose", options.verbose);
  CLI::App* const role_command = app.add_subcommand("role")->group("");
  std::string role, credentials;
  RoleOptions role_options;
  CountJob job;
  role_command->add_option("role", role);
  role_command->add_option("--name", role_options.name);
  role_command->add_option("--store", role_options.store);
  role_command->add_option("--host", role_options.host);
  role_command->add_option("--listens", role_options.listens);
  role_command->add_option("--credentials", credentials);
  role_command->add_option("--servers", role_options.servers);
  bool open = false;
  role_command->add_flag("--open", open, "the store asks for no token");
  role_command->add_option("--mode", job.mode);
  role_command->add_option("--folder", job.folder);
  role_command->add_option("--epochs", job.epochs);
  role_command->add_option("--calm", job.calm);
  CLI11_PARSE(app, argc, argv);
  try {
    if (role_command->parsed()) {
      run_role(role, role_options, credentials, open, job);
      return 0;
    }
    options.program = own_path();
    if (options.job.mode == "all_reduce") {
      options.servers = 0;
      if (trainers->count() == 0) options.trainers = 3;
    }
    for (const std::string& fault : faults)
      options.faults.push_back(trireme::chaos::fault_of(fault));
    return run_all(options, seeds) ? 0 : 1;
  } catch (const trireme::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 4;
  }
}
