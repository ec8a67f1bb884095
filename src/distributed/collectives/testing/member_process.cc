#include "distributed/collectives/testing/member_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <thread>

#include "base/error.h"

namespace trireme::distributed::testing {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(30);

Happening happening_of(const std::string& line) {
  Happening happening{{}, {}, line, {}};
  std::istringstream words(line);
  words >> happening.what;
  for (std::string word; words >> word;) happening.numbers.push_back(std::atoll(word.c_str()));
  if (!happening.numbers.empty()) {
    happening.at = Clock::time_point(std::chrono::nanoseconds(happening.numbers.back()));
    happening.numbers.pop_back();
  }
  return happening;
}

}  // namespace

MemberProcess::MemberProcess(const std::string& store, const std::string& prefix,
                             const std::string& name, const std::vector<std::string>& settings) {
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "collective_member";
  std::vector<std::string> words = {program.string(), store, prefix, name};
  words.insert(words.end(), settings.begin(), settings.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_io("no pipe for a member");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  const int failed = ::posix_spawn(&process_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  output_ = ends[0];
  if (failed != 0) {
    ::close(output_);
    fail_io(program.string() + " cannot be started");
  }
}

MemberProcess::~MemberProcess() {
  if (process_ >= 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(output_);
}

void MemberProcess::signal(int number) const { ::kill(process_, number); }

std::optional<Happening> MemberProcess::next() {
  const auto until = Clock::now() + kPatience;
  for (;;) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      const std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return happening_of(line);
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd descriptor{output_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&descriptor, 1, static_cast<int>(left.count())) <= 0) {
      return std::nullopt;
    }
    char bytes[4096];
    const ssize_t count = ::read(output_, bytes, sizeof bytes);
    if (count <= 0) return std::nullopt;
    unread_.append(bytes, static_cast<std::size_t>(count));
  }
}

std::optional<Happening> MemberProcess::next(const std::string& what) {
  for (;;) {
    std::optional<Happening> happening = next();
    if (!happening || happening->what == what) return happening;
  }
}

int MemberProcess::wait() {
  const auto until = Clock::now() + kPatience;
  int status = 0;
  while (::waitpid(process_, &status, WNOHANG) == 0) {
    if (Clock::now() > until) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace trireme::distributed::testing
