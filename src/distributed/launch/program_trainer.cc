// A trainer that is a program of the user, without a launcher.

#include <poll.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/launch/member_environment.h"
#include "distributed/launch/process.h"
#include "distributed/launch/program_command.h"
#include "distributed/launch/program_work.h"
#include "distributed/launch/role.h"

namespace trireme::distributed {
namespace {

constexpr int kRequestPollMs = 100;  // ms between two checks for orders

std::string path_of(const std::string& program) {
  if (const std::optional<std::string> found = find_program(program)) return *found;
  fail_usage("there is no program " + program + " that can be run, seen from " +
             std::filesystem::current_path().string() +
             "\n  hint   it must be in the image, or in a folder that the process sees");
}

void pass_on(Process& child) {
  for (const std::string& line : child.lines()) std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// Returns its exit code.
int end_of(Process& child, const std::function<bool()>& stop) {
  for (bool asked = false;;) {
    pollfd lines{child.output(), POLLIN, 0};
    ::poll(&lines, child.output() >= 0 ? 1 : 0, kRequestPollMs);
    const std::optional<int> code = child.ended();
    pass_on(child);
    if (code) return *code;
    if (!asked && stop && stop()) child.signal(SIGTERM), asked = true;
  }
}

// Whether any trainer of the job has trained; true if the store does not answer.
bool has_begun(const RoleOptions& options) {
  try {
    const std::unique_ptr<Store> store =
        connect_etcd({.address = options.store, .security = options.store_security});
    return store->get(work_key(options.prefix)).has_value();
  } catch (const Unavailable&) {
    return true;
  }
}

}  // namespace

int run_program(const RoleOptions& options, const RoleAccess& access,
                const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {path_of(options.job)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Process child(command, member_environment(options, access));
  const int code = end_of(child, options.stop);
  const bool asked = options.stop && options.stop();
  if (code != 0 && !asked && ended_by_itself(code) && !has_begun(options)) {
    fail_usage(options.job + " ended with code " + std::to_string(code) +
               " before it trained: see its lines above");
  }
  return code;
}

}  // namespace trireme::distributed
