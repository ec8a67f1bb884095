#pragma once

// A real etcd on this machine, for tests: its own folder, its own ports, gone with the object.

#include <sys/types.h>

#include <string>

namespace trireme::distributed::testing {

// A port of loopback that nobody has at the moment. Errors: io.
int free_port();

class EtcdProcess {
 public:
  // Waits until it answers. Errors: io, if it does not within 20 s; not_found, where there is no etcd.
  EtcdProcess();
  ~EtcdProcess();
  std::string address() const;
  void kill();     // SIGKILL
  void stop();     // SIGSTOP
  void go_on();    // SIGCONT
  void restart();  // on the same ports, with what it had written

 private:
  void start();
  void wait_until_ready() const;

  std::string folder_;
  int port_ = 0, peer_port_ = 0;
  pid_t process_ = -1;
};

}  // namespace trireme::distributed::testing
