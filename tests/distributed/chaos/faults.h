#pragma once

// The faults of a job and their times: the same for the same seed and the same choice of faults.

#include <cstdint>
#include <string>
#include <vector>

namespace trireme::chaos {

enum class Fault : std::uint8_t {
  kill_trainer,
  kill_server,
  kill_master,
  kill_trainers,  // all at once
  kill_chief,     // at the end, while one of the trainers tests and saves
  stop_trainer,   // SIGSTOP, and later SIGCONT
  stop_server,
  stop_master,
  slow_link,              // data between two processes, or to the store, arrive late,
  narrow_link,            // or at a limited rate,
  cut_link,               // or the connection is reset,
  silent_link,            // or data do not arrive
  flip,                   // changes a byte of the newest checkpoint, then kills a server
  tear,                   // truncates a part of the newest checkpoint, then kills a server
  full_disk,              // checkpoints fail with a full disk
  clock,                  // shifts the time of day of all processes
  etcd_restart,           // with a real etcd
  stop_store,             // the store does not answer for some time
  unauthenticated_peers,  // an unauthorized caller talks to a server or a master
  scale_trainers,         // changes the number of trainers
  scale_servers,          // changes the number of servers, between which slots move
  partition,              // no data between two network namespaces,
  loss,                   // or every twentieth packet is lost,
  narrow_wire,            // or all share a low rate
};
inline constexpr int kFaults = 24;
const char* name_of(Fault fault);
// Errors: usage.
Fault fault_of(const std::string& name);

struct Event {
  double at = 0;  // seconds after the start
  Fault fault = Fault::kill_trainer;
  std::uint32_t which = 0;  // index of the process or link, modulo their number
  double lasts = 0;         // seconds, of temporary faults
  double amount = 0;        // from 0 to 1: how slow, how narrow, how far
};

// Returns a number from 1 to `max` other than `now`.
int other_number(int now, int max, double amount);

// From second 2 to `seconds` - 2, on average `pause` seconds apart.
std::vector<Event> events_of(std::uint64_t seed, double seconds, double pause,
                             const std::vector<Fault>& faults);

}  // namespace trireme::chaos
