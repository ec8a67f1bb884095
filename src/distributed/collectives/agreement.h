#pragma once

// What the members of a newly formed group agree on: how many steps are committed, and who needs
// the state of whom.

#include <cstdint>
#include <vector>

namespace trireme::distributed {

// How far a member is. Sent as it is: all members run on machines of one kind.
struct Standing {
  std::int64_t committed = 0;  // steps
  std::int32_t in_step = 0;    // it has been in all groups since the last that agreed
  std::int32_t exchanged = 0;  // it has the results of the step behind `committed`
};

struct Agreement {
  std::int64_t committed = 0;
  int source = 0;           // the rank whose state counts: the first one that has committed so many
  std::vector<bool> needs;  // by rank: whether it needs the source's state
  bool anyone_needs() const;
};

// By rank. Of those in step, who has committed most is followed: the others have its results, or
// its state is given to them. If nobody is in step, all take the state of the one that is farthest.
Agreement agree_on(const std::vector<Standing>& all);

}  // namespace trireme::distributed
