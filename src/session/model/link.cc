#include "session/model/link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace trireme {
namespace {

// Runs a program with its output in `log`: its exit code, 128 + signal, or nothing if there is no
// such program.
std::optional<int> run_program(std::vector<std::string> words, const std::string& log) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t process = 0;
  const int error =
      ::posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT || error == EACCES) return std::nullopt;
  if (error != 0) {
    fail_io(fmt::format("cannot run {}: {}", words[0], std::generic_category().message(error)));
  }
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) fail_io(fmt::format("lost sight of {}", words[0]));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string link_shared(const std::map<std::string, std::string>& objects,
                        const std::string& linker, const std::string& scratch) {
  const std::string result = scratch + "/linked.so";
  const std::string log = scratch + "/linker.log";
  std::vector<std::string> words{"",   "-shared",     "-s", "--hash-style=gnu",
                                 "-z", "noexecstack", "-o", result};
  for (const auto& [name, content] : objects) {
    words.push_back(fmt::format("{}/{}.o", scratch, name));
    write_file_atomically(words.back(), content);
  }
  const std::vector<std::string> candidates =
      linker.empty() ? std::vector<std::string>{"mold", "ld.lld", "ld.lld-19"}
                     : std::vector<std::string>{linker};
  for (const std::string& candidate : candidates) {
    words[0] = candidate;
    const std::optional<int> code = run_program(words, log);
    if (!code) continue;
    if (*code != 0) {
      fail_internal(
          fmt::format("the linker {} ended with {}: {}", candidate, *code, read_file(log)));
    }
    return read_file(result);
  }
  fail_usage(
      fmt::format("compiling ahead of time needs a linker, and there is no {}\n"
                  "  hint   install mold",
                  fmt::join(candidates, ", ")));
}

}  // namespace trireme
