#include "distributed/launch/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr std::size_t kMaxAtOnce = 1u << 20;  // bytes, so that others have their turn, too

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!more.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

}  // namespace

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return 2;
    case ErrorKind::data: return 3;
    case ErrorKind::not_found:
    case ErrorKind::io: return 4;
    case ErrorKind::numeric: return 5;
    case ErrorKind::internal: return 1;
  }
  return 1;
}

bool ended_by_itself(int code) { return code <= 128 || code == 128 + SIGABRT; }

Process::Process(const std::vector<std::string>& command,
                 const std::map<std::string, std::string>& environment) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_io(std::string("a pipe: ") + std::strerror(errno));
  std::vector<std::string> words = command, variables = environment_with(environment);
  std::vector<char*> argv = pointers(words), envp = pointers(variables);
  const pid_t parent = ::getpid();
  id_ = ::fork();
  if (id_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ends[0];
  if (id_ < 0) {
    ::close(output_);
    fail_io(command.at(0) + " cannot be started: " + std::strerror(errno));
  }
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
}

Process::~Process() {
  if (!ended()) {
    signal(SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  if (output_ >= 0) ::close(output_);
}

void Process::signal(int number) const {
  if (!code_) ::kill(id_, number);
}

std::vector<std::string> Process::lines() {
  char part[4096];
  std::size_t taken = 0;
  while (output_ >= 0 && taken < kMaxAtOnce) {
    const ssize_t count = ::read(output_, part, sizeof part);
    if (count > 0) {
      taken += static_cast<std::size_t>(count);
      rest_.append(part, static_cast<std::size_t>(count));
    } else if (count == 0) {
      ::close(output_);
      output_ = -1;
      if (!rest_.empty() && rest_.back() != '\n') rest_ += '\n';
    } else if (errno != EINTR) {
      break;
    }
  }
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = rest_.find('\n', begin);
    const bool whole = end != std::string::npos && end - begin <= kLongestLine;
    if (!whole && rest_.size() - begin <= kLongestLine) break;
    lines.push_back(rest_.substr(begin, whole ? end - begin : kLongestLine));
    begin += whole ? end - begin + 1 : kLongestLine;
  }
  rest_.erase(0, begin);
  return lines;
}

std::optional<int> Process::ended() {
  if (code_) return code_;
  int status = 0;
  if (::waitpid(id_, &status, WNOHANG) != id_) return std::nullopt;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

}  // namespace trireme::distributed
