#pragma once

// A real etcd on this machine, for tests, with its own folder and ports. Ends with the object.

#include <sys/types.h>

#include <string>

namespace trireme::distributed::testing {

// Returns a port of loopback that is free at the moment. Errors: io.
int free_port();

class EtcdProcess {
 public:
  // Waits until it answers. Errors: io with its output if it does not; not_found if etcd is not
  // installed.
  EtcdProcess();
  ~EtcdProcess();
  std::string address() const;
  void kill();     // SIGKILL
  void stop();     // SIGSTOP
  void go_on();    // SIGCONT
  void restart();  // on the same ports, with its data

 private:
  void start();
  // Returns whether it answers before it ends, within a minute.
  bool answers();
  [[noreturn]] void fail_to_start() const;

  std::string folder_;
  int port_ = 0, peer_port_ = 0;
  pid_t process_ = -1;
};

}  // namespace trireme::distributed::testing
