// The chaos runner: chaos --seeds 20 --seconds 180.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include "distributed/launch/process.h"
#include "distributed/placement/authority.h"
#include "runs.h"
#include "trireme/crash.h"
#include "trireme/error.h"
#include "writers.h"

namespace {

using trireme::chaos::CountJob;
using trireme::chaos::RunOptions;
using trireme::chaos::RunsOptions;
using trireme::distributed::RoleOptions;

constexpr const char* kExamples = R"(examples:
  chaos                                  one short run, seed 1
  chaos --first 3 --seeds 1 --verbose    what happens in the run of seed 3
  chaos --seeds 20 --seconds 180 --etcd  20 runs of three minutes, with an etcd that is restarted, too
  chaos --launch --mode each --seeds 8 --jobs 2   the product's own trainers, in all modes, two runs at a time
)";

std::atomic<bool> stop_came = false;

std::string own_path() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "";
}

struct Role {
  std::string role, credentials;
  bool open = false, writes = false;
  RoleOptions options;
  CountJob job;
};

void add_role(CLI::App& app, Role& role) {
  CLI::App* const command = app.add_subcommand("role")->group("");
  RoleOptions& options = role.options;
  command->add_option("role", role.role);
  command->add_option("--name", options.name);
  command->add_option("--store", options.store);
  command->add_option("--host", options.host);
  command->add_option("--listens", options.listens);
  command->add_option("--credentials", role.credentials);
  command->add_option("--servers", options.servers);
  command->add_flag("--open", role.open, "the store asks for no token");
  command->add_flag("--writes", role.writes, "tells when it can write to the store again");
  command->add_option("--mode", role.job.mode);
  command->add_option("--folder", role.job.folder);
  command->add_option("--epochs", role.job.epochs);
  command->add_option("--calm", role.job.calm);
}

void run_role(Role& role) {
  RoleOptions& options = role.options;
  if (role.credentials.empty()) {
    const char* token = std::getenv("TRIREME_JOB_TOKEN");
    options.security.token = token != nullptr ? token : "";
  } else {
    options.security = trireme::distributed::read_credentials(
        role.credentials, trireme::distributed::seconds_since_1970());
  }
  if (!role.open) options.store_security = options.security;
  options.prefix = trireme::chaos::kPrefix;
  options.stop = [] { return stop_came.load(); };
  std::optional<trireme::chaos::Writer> writer;
  if (role.writes) {
    writer.emplace(trireme::distributed::open_store(options),
                   options.prefix + "writes/" + options.name);
  }
  trireme::chaos::run_role(role.role, options, role.job);
}

void add_runs(CLI::App& app, RunsOptions& runs, std::vector<std::string>& faults) {
  RunOptions& options = runs.first;
  app.add_option("--first", options.seed, "the first seed (1)");
  app.add_option("--seeds", runs.seeds, "how many (1)");
  app.add_option("--jobs", runs.jobs, "runs at the same time (1); what is measured then is late")
      ->check(CLI::Range(1, 64));
  app.add_option("--seconds", options.seconds, "for which faults happen, in each run (30)");
  app.add_option("--pause", options.pause, "seconds between faults, on average (4)");
  app.add_option("--mode", options.job.mode,
                 "asynchronous, geo, synchronous, all_reduce, or each: by the seed (asynchronous)")
      ->check(CLI::IsMember(
          {"asynchronous", "geo", "synchronous", "all_reduce", trireme::chaos::kEach}));
  app.add_flag("--launch", options.launched,
               "the product's own trainers: trireme launch --program, of a Program that counts");
  app.add_option("--trainers", options.trainers, "(2; all_reduce: 3)")
      ->each([&runs](const std::string&) { runs.own_trainers = true; });
  app.add_option("--servers", options.servers, "(2)");
  app.add_option("--masters", options.masters, "one leads, the others stand by (2; --launch: 1)");
  app.add_option("--faults", faults, "only these: \"kill server\",\"slow link\"")->delimiter(',');
  app.add_flag("--etcd", options.etcd, "a real etcd");
  app.add_option("--host", options.host, "where all listen, with certificates; without proxies");
  app.add_option("--other-namespace", options.other_namespace,
                 "a network namespace, where every second process is: see namespaces.sh");
  app.add_option("--other-host", options.other_host, "where these listen");
  app.add_option("--logs", options.logs, "folder for the logs of runs that go wrong (chaos-logs)");
  app.add_flag("--verbose", options.verbose, "print these logs as they grow");
}

int complain(const std::string& message, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  trireme::report_crashes("chaos");
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, [](int) { stop_came = true; });
  CLI::App app(std::string("A job that counts records, under faults.\n\n") + kExamples, "chaos");
  RunsOptions runs;
  std::vector<std::string> faults;
  Role role;
  add_runs(app, runs, faults);
  add_role(app, role);
  CLI11_PARSE(app, argc, argv);
  try {
    if (app.got_subcommand("role")) {
      run_role(role);
      return 0;
    }
    runs.first.program = own_path();
    for (const std::string& fault : faults) {
      runs.first.faults.push_back(trireme::chaos::fault_of(fault));
    }
    return run_all(runs) ? 0 : 1;
  } catch (const trireme::Error& error) {
    return complain(error.what(), trireme::distributed::exit_code(error.kind()));
  } catch (const std::exception& error) {
    return complain(error.what(), 1);
  }
}
