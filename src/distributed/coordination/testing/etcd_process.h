#pragma once

// A real etcd on this machine, for tests: its own folder, its own ports, gone with the object.

#include <sys/types.h>

#include <string>

namespace trireme::distributed::testing {

// A port of loopback that nobody has at the moment. Errors: io.
int free_port();

class EtcdProcess {
 public:
  // Waits until it answers. Errors: io, with what it says, if it does not; not_found, where there
  // is no etcd.
  EtcdProcess();
  ~EtcdProcess();
  std::string address() const;
  void kill();     // SIGKILL
  void stop();     // SIGSTOP
  void go_on();    // SIGCONT
  void restart();  // on the same ports, with what it had written

 private:
  void start();
  // Whether it does before it ends, within a minute.
  bool answers();
  [[noreturn]] void fail_to_start() const;

  std::string folder_;
  int port_ = 0, peer_port_ = 0;
  pid_t process_ = -1;
};

}  // namespace trireme::distributed::testing
