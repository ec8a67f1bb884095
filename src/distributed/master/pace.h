#pragma once

// Bounded staleness: no trainer begins a step that is more than a given number ahead of the
// finished steps of the slowest trainer with work (stale synchronous parallel, Ho et al. 2013).

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace trireme::distributed {

// The request of a trainer before a step.
struct PaceRequest {
  std::string name;
  std::uint64_t finished = 0;    // steps by its own clock whose changes the servers have
  std::uint32_t unfinished = 0;  // later steps that it has begun
  std::uint32_t lead = 1;        // most steps that it may be ahead
  bool enters = false;           // it is new or had no work: its clock is not compared
};

struct PaceAnswer {
  bool go = false;  // it may begin its next step
  std::uint64_t finished =
      0;  // its clock from now on: a trainer that enters begins at the slowest clock
  std::uint64_t slowest = 0;  // least clock of the trainers with work
};

// The clocks of trainers, in the memory of the leader. The next leader waits until all trainers
// with work have reported theirs. Not thread-safe.
class Pace {
 public:
  // Sets the trainers with work. A trainer without work delays no other one, and enters again when
  // it has work.
  void set_working(std::set<std::string> names);
  // Repeating a request has no effect.
  PaceAnswer ask(const PaceRequest& request);

 private:
  struct Clock {
    std::uint64_t finished = 0;
    bool away = false;  // it had no work since
  };
  bool unknown(const std::string& name) const;
  bool others_unknown(const std::string& name) const;

  std::set<std::string> working_;
  std::set<std::string> entering_;  // trainers that wait for unknown clocks
  std::map<std::string, Clock> clocks_;
};

}  // namespace trireme::distributed
