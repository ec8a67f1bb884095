#include "distributed/server/testing/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace trireme::distributed::testing {
namespace {

constexpr int kLongest = 20000;  // milliseconds until it must listen

std::string program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "parameter_server_process";
}

// Returns the number in a line of text, or 0.
int read_number(int from) {
  std::string text;
  char c = 0;
  pollfd waiting = {from, POLLIN, 0};
  while (::poll(&waiting, 1, kLongest) == 1 && ::read(from, &c, 1) == 1 && c != '\n') text += c;
  return std::atoi(text.c_str());
}

}  // namespace

ServerProcess::ServerProcess(int place, int servers) : place_(place), servers_(servers) { start(); }
ServerProcess::~ServerProcess() { kill(); }

std::string ServerProcess::address() const { return "127.0.0.1:" + std::to_string(port_); }

void ServerProcess::start() {
  std::string path = program(), arguments[] = {std::to_string(place_), std::to_string(servers_),
                                               std::to_string(port_)};
  char* argv[] = {path.data(), arguments[0].data(), arguments[1].data(), arguments[2].data(),
                  nullptr};
  int pipe[2], life[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0 || ::pipe2(life, O_CLOEXEC) != 0) {
    fail_io("no pipe for a server");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, life[0], 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
  const int failed = ::posix_spawn(&process_, path.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(life[0]);
  ::close(pipe[1]);
  life_ = life[1];
  const int port = failed == 0 ? read_number(pipe[0]) : 0;
  ::close(pipe[0]);
  if (failed != 0) {
    process_ = -1;
    ::close(life_);
  }
  if (port == 0) {
    kill();
    fail_io(path + " does not listen");
  }
  port_ = port;
}

void ServerProcess::kill() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
  ::close(life_);
}

void ServerProcess::restart() {
  kill();
  start();
}

void ServerProcess::pause() {
  ::kill(process_, SIGSTOP);
  int status = 0;
  ::waitpid(process_, &status, WUNTRACED);  // it runs on until it has noticed
}
void ServerProcess::go_on() { ::kill(process_, SIGCONT); }

}  // namespace trireme::distributed::testing
