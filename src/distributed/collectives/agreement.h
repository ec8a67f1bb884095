#pragma once

// The agreement of a new group: how many steps are committed, and which member needs whose state.

#include <cstdint>
#include <vector>

namespace trireme::distributed {

// The progress of a member. Sent as bytes: all members run on machines of one kind.
struct Standing {
  std::int64_t committed = 0;  // steps
  std::int32_t in_step = 0;    // it was in all groups since the last agreement
  std::int32_t exchanged = 0;  // it has the results of the step after `committed`
};

struct Agreement {
  std::int64_t committed = 0;
  int source = 0;  // the first rank that committed this many steps; its state is the valid one
  std::vector<bool> needs;  // by rank: whether it needs the state of the source
  bool anyone_needs() const;
};

// `all` is by rank. Among the members in step, the one that committed most is the source: the
// others have its results, or receive its state. If no member is in step, all take the state of the
// member with the most steps.
Agreement agree_on(const std::vector<Standing>& all);

}  // namespace trireme::distributed
