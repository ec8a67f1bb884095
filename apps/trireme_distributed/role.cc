// `trireme role`: one process of a job, as launchers and Kubernetes start it.

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <optional>
#include <random>
#include <string>

#include "commands.h"
#include "distributed/launch/launcher.h"
#include "distributed/launch/role.h"
#include "distributed/launch/standalone_master.h"
#include "distributed/placement/bootstrap.h"

namespace commands {
namespace {

namespace dist = trireme::distributed;

struct Options {
  dist::RoleOptions role;
  dist::RoleAccess access;
  std::string what;
  std::vector<std::string> arguments;  // of a program
  bool fresh_name = false, own_place = false;
};

// The number at the end of a name: 2 of "clicks-servers-2".
int number_of(const std::string& name) {
  const std::size_t digits = name.size() - (name.find_last_not_of("0123456789") + 1);
  int number = -1;
  const char* const end = name.data() + name.size();
  if (std::from_chars(end - digits, end, number).ec != std::errc() ||
      number >= dist::kMaxProcesses) {
    throw CLI::ValidationError("--own-place",
                               "a name with a number at its end is expected, from 0 to " +
                                   std::to_string(dist::kMaxProcesses - 1) + ", not " + name);
  }
  return number;
}

// Returns when the role is done. A program of the user's takes the time that it needs to leave.
void run_role(Options& options) {
  if (options.what == "trainer" && options.role.program) {
    const int code = dist::run_program(options.role, options.access, options.arguments);
    if (code != 0) throw CLI::RuntimeError(code);
    return;
  }
  leave_in_time();
  if (options.what == "trainer") dist::run_trainer(options.role);
  else if (options.what == "server") dist::run_server(options.role);
  else dist::run_master(options.role);
}

void run(Options& options) {
  dist::secure(options.role, options.access, options.what);
  options.role.host = dist::own_address("", options.role.host).host;
  options.role.stop = stop_came;
  if (options.own_place) options.role.place = number_of(options.role.name);
  if (options.fresh_name) options.role.name += fmt::format(".{:08x}", std::random_device()());
  // A caller that sets the port expects it at the address of the process.
  std::string& metrics_host = options.role.metrics_host;
  if (metrics_host.empty()) {
    metrics_host = options.role.metrics_port == 0 ? "127.0.0.1" : dist::own_ip(options.role);
  }
  std::optional<dist::StopWatch> watch;
  if (options.role.until_done && options.what == "trainer") {
    watch.emplace(options.role, [] {
      end_late_with(dist::kJobStoppedCode);
      ::kill(::getpid(), SIGTERM);
    });
  }
  try {
    run_role(options);
  } catch (const CLI::RuntimeError&) {  // of a program that ended after a request to end
    if (!watch || !watch->came()) throw;
  } catch (const dist::JobStopped& stop) {
    std::printf("%s\n", stop.message.c_str());
    throw CLI::RuntimeError(dist::kJobStoppedCode);
  }
  if (watch && watch->came()) throw CLI::RuntimeError(dist::kJobStoppedCode);
  // For a supervisor that restarts processes, a requested end does not mean that the work is done.
  if (options.role.until_done && stop_came())
    throw dist::Stopped{"stopped before the job was over"};
}

}  // namespace

void add_role(CLI::App& app) {
  static Options options;
  dist::RoleOptions& role = options.role;
  CLI::App* command = app.add_subcommand("role", "run one process of a job, as a launcher does");
  command->add_option("role", options.what, "trainer, server or master")
      ->required()
      ->check(CLI::IsMember({"trainer", "server", "master"}));
  command->add_option("job", role.job, "a job file; with --program, that program")->required();
  command->add_option("arguments", options.arguments,
                      "arguments of the program after --, for a trainer with --program");
  command->add_flag("--program", role.program,
                    "the job is your own program, which runs as the trainers");
  command
      ->add_option("--name", role.name,
                   "name of this process; unique among all past processes of the job")
      ->required();
  command->add_flag("--fresh-name", options.fresh_name,
                    "append random characters to the name, for restarts under one name");
  command->add_flag("--own-place", options.own_place,
                    "for a server: take the place with the number at the end of the name");
  CLI::Option* store =
      command->add_option("--store", options.access.store, "HOST:PORT of the launcher");
  command->add_option("--etcd", options.access.etcd, "HOST:PORT of etcd; replaces --store")
      ->excludes(store);
  command->add_option("--prefix", role.prefix, "prefix of the keys of the job");
  command->add_option("--bind", role.host,
                      "IP address to listen at, also for other processes (127.0.0.1)");
  command->add_option("--credentials", options.access.credentials,
                      "folder with the certificates of the job");
  command->add_option("--etcd-credentials", options.access.etcd_credentials,
                      "folder with the certificates for etcd");
  command->add_option("--trainers", role.trainers, "number of trainers of the job");
  command->add_option("--servers", role.servers, "number of parameter servers of the job");
  command->add_option("--threads", role.threads, "threads of a trainer");
  command
      ->add_option("--handlers", role.handlers,
                   "threads of a server for requests (0: as many as processors)")
      ->check(CLI::Range(0, 1024));
  command->add_option("--set", role.set, "SECTION.KEY=VALUE, replaces a value of the job")
      ->allow_extra_args(false);
  command->add_option("--output", role.output, "folder of the saved model");
  command->add_option("--job-name", role.job_name, "name of the job");
  role.metrics_host.clear();
  command
      ->add_option("--metrics-port", role.metrics_port,
                   "port of its metrics and health (any free port)")
      ->check(CLI::Range(0, 65535));
  command->add_option(
      "--metrics-host", role.metrics_host,
      "address of metrics and health (127.0.0.1; with --metrics-port that of --bind)");
  command->add_flag(
      "--until-done", role.until_done,
      "for a trainer or master without launcher: ends when the job is done (exit code 0) or "
      "stopped by trireme job (7); exit code 6 after an earlier request to end");
  command->callback([] {
    if (options.access.store.empty() && options.access.etcd.empty()) {
      throw CLI::RequiredError("--store or --etcd");
    }
    run(options);
  });
}

}  // namespace commands
