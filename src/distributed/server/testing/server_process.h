#pragma once

// A parameter server as a separate process, for tests that kill it.

#include <sys/types.h>

#include <string>

namespace trireme::distributed::testing {

class ServerProcess {
 public:
  // Server `place` of `servers`, with its share of a balanced map of version 1. Waits until it
  // listens. Errors: io.
  ServerProcess(int place, int servers);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  std::string address() const;
  void kill();            // SIGKILL
  void restart();         // at the same address, without its state
  void pause(), go_on();  // SIGSTOP, SIGCONT

 private:
  void start();

  const int place_, servers_;
  int port_ = 0;
  int life_ = -1;  // the write end of a pipe: the process ends when it is closed
  pid_t process_ = -1;
};

}  // namespace trireme::distributed::testing
