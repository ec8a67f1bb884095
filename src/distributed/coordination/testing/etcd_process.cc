#include "distributed/coordination/testing/etcd_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "distributed/coordination/etcd_store.h"

namespace trireme::distributed::testing {
namespace {

constexpr const char* kProgram = "/usr/bin/etcd";

}  // namespace

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    ::close(socket);
    fail(ErrorKind::io, "no port is free");
  }
  ::close(socket);
  return ntohs(address.sin_port);
}

EtcdProcess::EtcdProcess() {
  if (!std::filesystem::exists(kProgram)) {
    fail(ErrorKind::not_found, "etcd is not installed\n  hint   tools/install-deps.sh --test");
  }
  std::string name = (std::filesystem::temp_directory_path() / "trireme_etcd_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) fail(ErrorKind::io, "no folder for etcd");
  folder_ = name;
  for (int attempt = 0; attempt < 5;
       ++attempt) {  // another process may take the free port in between
    port_ = free_port();
    peer_port_ = free_port();
    start();
    if (answers()) return;
    kill();
    std::filesystem::remove_all(folder_ + "/data");
  }
  fail_to_start();
}

EtcdProcess::~EtcdProcess() {
  kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string EtcdProcess::address() const { return fmt::format("127.0.0.1:{}", port_); }

void EtcdProcess::start() {
  const std::string client = fmt::format("http://127.0.0.1:{}", port_);
  const std::string peer = fmt::format("http://127.0.0.1:{}", peer_port_);
  const std::string log = folder_ + "/log";
  // A quick election: a restarted server of one member answers sooner.
  std::string arguments[] = {kProgram,
                             "--data-dir=" + folder_ + "/data",
                             "--name=one",
                             "--listen-client-urls=" + client,
                             "--advertise-client-urls=" + client,
                             "--listen-peer-urls=" + peer,
                             "--initial-advertise-peer-urls=" + peer,
                             "--initial-cluster=one=" + peer,
                             "--heartbeat-interval=50",
                             "--election-timeout=500",
                             "--log-level=error"};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  const int failed = ::posix_spawn(&process_, kProgram, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) fail(ErrorKind::io, "etcd cannot be started");
}

bool EtcdProcess::answers() {
  const auto store = connect_etcd({.address = address(), .timeout = Milliseconds(500)});
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (bool answered = false; std::chrono::steady_clock::now() < until;) {
    try {
      store->commit({});
      answered = true;
    } catch (const Unavailable&) {
    }
    if (::waitpid(process_, nullptr, WNOHANG) == process_) {
      process_ = -1;
      return false;
    }
    if (answered) return true;
  }
  return false;
}

void EtcdProcess::fail_to_start() const {
  std::ifstream log(folder_ + "/log");
  std::ostringstream text;
  text << log.rdbuf();
  fail(ErrorKind::io, "etcd does not answer at " + address() + "; it says:\n" + text.str());
}

void EtcdProcess::kill() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

// A number below 1 would be many processes.
void EtcdProcess::stop() {
  if (process_ > 0) ::kill(process_, SIGSTOP);
}
void EtcdProcess::go_on() {
  if (process_ > 0) ::kill(process_, SIGCONT);
}

void EtcdProcess::restart() {
  kill();
  start();
  if (!answers()) fail_to_start();
}

}  // namespace trireme::distributed::testing
