#pragma once

// A group that lives on when members die, leave or join: a new generation of it is formed, the
// survivors agree on the last step that they have in common, and new members receive its state from
// one of them.
//
// Each step has two phases. First all exchange what it needs, by operations of the group, and keep
// what they put in; then a barrier. Whoever is through the barrier knows that all have the results:
// the step is committed. If the group breaks, those who are left compare how far they are: if
// anyone has committed the step, all others have its results and commit it too; else they exchange
// again, in the next group.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "distributed/collectives/group.h"

namespace trireme::distributed {

struct ElasticOptions {
  std::string prefix;     // of its keys in the store: the same for all members, and nobody else's
  std::string name;       // of this member, which no other member has or had; no '/', no space
  std::size_t least = 1;  // members of a group
  // How long a new group waits for those who do not answer, but may be alive: they are stopped, or
  // their machine is away.
  Milliseconds settle{500};
  Milliseconds patience{60000};  // how long a member waits for a group
  std::int64_t lease = 5;        // seconds
  // Its time limit must be longer than the slowest member's step. `on_broken` and `cancelled` are
  // not called; `on_stranger` is, by a thread of the member.
  GroupOptions group = {.form_timeout = Milliseconds(2000)};
};

// How a member gives its state away, and how it takes another's. Called within begin() and step()
// only.
struct ElasticState {
  std::function<std::vector<std::byte>()> save;  // as after committed() steps
  std::function<void(std::span<const std::byte>)> restore;
  // Called instead by all members of a group of which nobody is left from one before, with its
  // number; returns after how many committed steps the state is with which they all go on. Without
  // it the state of the member that is farthest counts.
  std::function<std::int64_t(std::int64_t generation)> found = {};
};

// One thread calls all functions. A thread of its own answers the other members, also while that
// one computes.
class ElasticGroup {
 public:
  // Wants to take part, with a state after `committed` steps, which counts if no member of a former
  // group is left: then that of the member that is farthest is taken. The store outlives the group;
  // while it is unavailable, a group goes on, and new ones have to wait.
  ElasticGroup(Store& store, const ElasticOptions& options, ElasticState state,
               std::int64_t committed = 0);
  // Leaves. The others form a new group with their next operation.
  ~ElasticGroup();
  ElasticGroup(const ElasticGroup&) = delete;
  ElasticGroup& operator=(const ElasticGroup&) = delete;

  // The group to begin the next step with; the same as before as long as it is whole. May restore
  // another member's state, so it comes before what the step is computed from, and committed() may
  // be another one. Errors: Unavailable, if there is no group in time; whatever the callbacks
  // throw.
  std::shared_ptr<Group> begin();
  // Commits a step. `exchange` is called with a group, again with the next one when that breaks,
  // and leaves what it puts in as it is. True: the step is committed, by this group or, if
  // `exchange` had succeeded before, by others. False: this member was not among those that went on
  // without it; the state of another one has been restored, and the step is to be computed anew.
  // Errors: as begin(), and what `exchange` throws but GroupBroken.
  bool step(const std::function<void(const std::shared_ptr<Group>&)>& exchange);

  std::int64_t committed() const;  // steps; fewer than before if begin() or step() had to restore
  std::int64_t breaks() const;     // how often another group had to be formed after the first

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::distributed
