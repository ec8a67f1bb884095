#pragma once

// What happens to a job, and when: the same for the same seed.

#include <cstdint>
#include <string>
#include <vector>

namespace trireme::chaos {

enum class Fault : std::uint8_t {
  kill_trainer,
  kill_server,
  kill_master,
  stop_trainer,  // SIGSTOP, and after some time SIGCONT
  stop_server,
  stop_master,
  damage,        // a byte of the newest checkpoint is changed, and then a server is killed
  etcd_restart,  // with a real etcd
};
const char* name_of(Fault fault);

struct Event {
  double at = 0;  // seconds after the beginning
  Fault fault = Fault::kill_trainer;
  std::uint32_t which = 0;  // of the processes there are then, modulo their number
  double lasts = 0;         // seconds, of stops
};

// From second 2 to `seconds` - 2, on average `pause` seconds from one to the next.
std::vector<Event> events_of(std::uint64_t seed, double seconds, double pause, bool etcd);

}  // namespace trireme::chaos
