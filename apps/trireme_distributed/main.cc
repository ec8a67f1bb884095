// `trireme launch` and the processes that it starts.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "distributed/launch/launcher.h"
#include "distributed/launch/role.h"
#include "trireme/error.h"

namespace {

namespace dist = trireme::distributed;

constexpr const char* kExamples = R"(examples:
  trireme launch --trainers 2 job.toml               two processes, kept in step by all-reduce
  trireme launch --trainers 2 --servers 2 job.toml   parameters on servers: [distributed] mode = "asynchronous"
)";

std::atomic<bool> stop_came = false;
static_assert(std::atomic<bool>::is_always_lock_free);
void on_stop(int) { stop_came = true; }

std::string own_path() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "";
}

void add_launch(CLI::App& app, dist::LaunchOptions& options) {
  CLI::App* command =
      app.add_subcommand("launch", "run a job by several processes on this machine");
  command->add_option("job", options.job, "a job file")->required();
  command->add_option("--trainers", options.trainers, "processes that train (2)");
  command->add_option("--servers", options.servers, "parameter servers (0)");
  command->add_option("--threads", options.threads, "of each trainer (1)");
  command->add_option("--set", options.set, "SECTION.KEY=VALUE instead of what the job says");
  command->add_option("-o,--output", options.output, "folder of the saved model");
  command->callback([&options] {
    options.program = own_path();
    options.terminal = ::isatty(1) != 0;
    options.stop = [] { return stop_came.load(); };
    dist::launch(options);
  });
}

void add_role(CLI::App& app, dist::RoleOptions& options, std::string& role) {
  CLI::App* command = app.add_subcommand("role", "one process of a job")->group("");
  command->add_option("role", role)
      ->required()
      ->check(CLI::IsMember({"trainer", "server", "master"}));
  command->add_option("job", options.job)->required();
  command->add_option("--store", options.store)->required();
  command->add_option("--name", options.name)->required();
  command->add_option("--trainers", options.trainers);
  command->add_option("--servers", options.servers);
  command->add_option("--threads", options.threads);
  command->add_option("--set", options.set);
  command->add_option("--output", options.output);
  command->callback([&options, &role] {
    // Not among the arguments, which all users of the machine see.
    const char* token = std::getenv("TRIREME_JOB_TOKEN");
    options.token = token != nullptr ? token : "";
    options.stop = [] { return stop_came.load(); };
    if (role == "trainer") dist::run_trainer(options);
    else if (role == "server") dist::run_server(options);
    else dist::run_master(options);
  });
}

int complain(const std::string& message, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return code;
}

int exit_code(trireme::ErrorKind kind) {
  switch (kind) {
    case trireme::ErrorKind::usage: return 2;
    case trireme::ErrorKind::data: return 3;
    case trireme::ErrorKind::not_found:
    case trireme::ErrorKind::io: return 4;
    case trireme::ErrorKind::numeric: return 5;
    case trireme::ErrorKind::internal: return 1;
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGTERM, on_stop);
  std::signal(SIGINT, on_stop);
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app(std::string("Trireme's jobs of several processes.\n\n") + kExamples, "trireme");
  app.require_subcommand(1);
  dist::LaunchOptions launch;
  dist::RoleOptions role_options;
  std::string role;
  add_launch(app, launch);
  add_role(app, role_options, role);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return complain(std::string(error.what()) + "\n  hint   trireme launch --help", 2);
  } catch (const trireme::Error& error) {
    return complain(error.what(), exit_code(error.kind()));
  } catch (const std::exception& error) {
    return complain(std::string(error.what()) + "\n  hint   this is a mistake of Trireme's", 1);
  }
}
