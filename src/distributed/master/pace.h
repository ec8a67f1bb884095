#pragma once

// Bounded staleness: nobody begins a step that is more than so many ahead of what the slowest
// trainer with work has finished (stale synchronous parallel, Ho et al. 2013).

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace trireme::distributed {

// What a trainer says before it begins a step.
struct PaceRequest {
  std::string name;
  std::uint64_t finished = 0;    // steps, by its own clock: servers have what these have changed
  std::uint32_t unfinished = 0;  // steps beyond these that it has begun
  std::uint32_t lead = 1;        // by how many steps it may be ahead
  bool enters = false;  // it is new or had no work: its clock is not compared with those of others
};

struct PaceAnswer {
  bool go = false;             // it may begin its next step
  std::uint64_t finished = 0;  // its clock from now on: who enters begins where the slowest is
  std::uint64_t slowest = 0;   // the least clock of those that have work
};

// The clocks of trainers, as the leader of the job knows them. They are in its memory alone: the
// next leader waits until all who have work have told it theirs. Not safe for several threads at
// once.
class Pace {
 public:
  // Who has work now. Whoever has none holds nobody up, and enters again when it has some.
  void set_working(std::set<std::string> names);
  // Asking the same again does no harm.
  PaceAnswer ask(const PaceRequest& request);

 private:
  struct Clock {
    std::uint64_t finished = 0;
    bool away = false;  // it has had no work since
  };
  bool unknown(const std::string& name) const;
  bool others_unknown(const std::string& name) const;

  std::set<std::string> working_;
  std::set<std::string> entering_;  // who waits for others to become known
  std::map<std::string, Clock> clocks_;
};

}  // namespace trireme::distributed
