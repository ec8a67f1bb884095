#include "distributed/launch/launcher.h"

#include <fmt/core.h>

#include <optional>
#include <random>

#include "base/error.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/membership.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/launch/progress.h"
#include "distributed/launch/role.h"
#include "distributed/launch/supervisor.h"
#include "trireme/job.h"

namespace trireme::distributed {
namespace {

constexpr std::chrono::milliseconds kLook{100};  // between two looks at what has ended

std::string random_token() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 8; ++i) token += fmt::format("{:08x}", device());
  return token;
}

class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options)
      : options_(options),
        token_(random_token()),
        store_(make_memory_store()),
        progress_(options.terminal),
        children_({.command = [this](const std::string& role,
                                     const std::string& name) { return command(role, name); },
                   .environment = {{"TRIREME_JOB_TOKEN", token_}},
                   .heard = [this](const std::string& name,
                                   const std::string& line) { hear(name, line); },
                   .gone =
                       [this](const std::string& role, const std::string& name) {
                         Membership(*store_, RoleOptions().prefix).forget(role, name);
                       },
                   .restarts = options.restarts}) {
    EtcdServerOptions server;
    server.security.token = token_;
    server_.emplace(*store_, server);
    children_.start("master");
    for (int i = 0; i < options.servers; ++i) children_.start("server");
    for (int i = 0; i < options.trainers; ++i) children_.start("trainer");
  }

  void run() {
    while (children_.running("trainer") > 0) {
      children_.look(kLook);
      progress_.show(fmt::format("{} trainers, {} servers", children_.running("trainer"),
                                 children_.running("server")));
      if (options_.stop && options_.stop()) {
        children_.end();
        fail(ErrorKind::usage, "the job was stopped");
      }
    }
    children_.end();
    progress_.finish();
  }

 private:
  std::vector<std::string> command(const std::string& role, const std::string& name) const {
    std::vector<std::string> words = {options_.program,
                                      "role",
                                      role,
                                      options_.job,
                                      "--name",
                                      name,
                                      "--store",
                                      "127.0.0.1:" + std::to_string(server_->port()),
                                      "--trainers",
                                      std::to_string(options_.trainers),
                                      "--servers",
                                      std::to_string(options_.servers),
                                      "--threads",
                                      std::to_string(options_.threads)};
    for (const std::string& setting : options_.set) {
      words.insert(words.end(), {"--set", setting});
    }
    if (!options_.output.empty()) words.insert(words.end(), {"--output", options_.output});
    return words;
  }

  void hear(const std::string& name, const std::string& line) {
    if (!progress_.take(line)) progress_.say("[" + name + "] " + line);
  }

  const LaunchOptions options_;
  const std::string token_;
  const std::unique_ptr<Store> store_;
  std::optional<EtcdServer> server_;
  Progress progress_;
  Supervisor children_;
};

// Before anything is started.
void check_job(const LaunchOptions& options) {
  using Mode = Distribution::Mode;
  const Mode mode = Job::read(options.job, {.set = options.set}).distribution().mode;
  if (mode != Mode::all_reduce && options.servers < 1) {
    fail_usage("with parameters on servers (see [distributed] mode) a job needs some: --servers 2");
  }
  if (mode == Mode::all_reduce && options.servers > 0) {
    fail_usage(
        "mode all_reduce has no use for parameter servers: leave --servers out, or set "
        "[distributed] mode = \"asynchronous\"");
  }
}

}  // namespace

void launch(const LaunchOptions& options) {
  if (options.trainers < 1 || options.servers < 0 || options.trainers > 256 ||
      options.servers > 256) {
    fail_usage("launch: trainers must be 1 to 256 and servers 0 to 256");
  }
  check_job(options);
  Launcher(options).run();
}

}  // namespace trireme::distributed
