#pragma once

// What happens to a job, and when: the same for the same seed and the same choice of faults.

#include <cstdint>
#include <string>
#include <vector>

namespace trireme::chaos {

enum class Fault : std::uint8_t {
  kill_trainer,
  kill_server,
  kill_master,
  kill_trainers,  // all of them at once
  kill_chief,     // at the end, when one of the trainers tests and saves
  stop_trainer,   // SIGSTOP, and after some time SIGCONT
  stop_server,
  stop_master,
  slow_link,    // what passes between two processes, or between one and the store, is late,
  narrow_link,  // or has a limit of bytes a second,
  cut_link,     // or is reset,
  silent_link,  // or does not come at all
  flip,         // a byte of the newest checkpoint is changed, and then a server is killed
  tear,         // a part of the newest checkpoint is cut in the middle, and then a server is killed
  full_disk,    // checkpoints find no room
  clock,        // the time of day of all processes is another one from now on
  etcd_restart,    // with a real etcd
  stop_store,      // nobody gets an answer from the store, and later they all do
  strangers,       // somebody talks to a server or a master who has no business with it
  scale_trainers,  // other numbers of trainers
  scale_servers,   // and of servers are wanted, among which slots move
  partition,       // between those in two network namespaces nothing passes,
  loss,            // or every twentieth packet gets lost,
  narrow_wire,     // or all share a small rate
};
inline constexpr int kFaults = 24;
const char* name_of(Fault fault);
// Errors: usage.
Fault fault_of(const std::string& name);

struct Event {
  double at = 0;  // seconds after the beginning
  Fault fault = Fault::kill_trainer;
  std::uint32_t which = 0;  // of the processes or links there are then, modulo their number
  double lasts = 0;         // seconds, of what passes
  double amount = 0;        // from 0 to 1: how slow, how narrow, how far
};

// Another number from 1 to `most` than `now`.
int other_number(int now, int most, double amount);

// From second 2 to `seconds` - 2, on average `pause` seconds from one to the next.
std::vector<Event> events_of(std::uint64_t seed, double seconds, double pause,
                             const std::vector<Fault>& faults);

}  // namespace trireme::chaos
