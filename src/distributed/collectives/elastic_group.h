#pragma once

// A group that continues when members fail, leave or join. A new generation forms, the remaining
// members agree on their last common step, and new members receive the state from one of them.
//
// Each step has two phases. First all members exchange what the step needs, by operations of the
// group, and keep their inputs; then comes a barrier. A member that has passed the barrier knows
// that all members have the results: the step is committed. If the group breaks, the remaining
// members compare their progress. If one of them has committed the step, all others have its
// results and commit it too. Otherwise they exchange again, in the next group.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "distributed/collectives/group.h"

namespace trireme::distributed {

struct ElasticOptions {
  std::string
      prefix;  // of its keys in the store: the same for all members, and used by no other group
  std::string name;             // of this member: no other member has or had it; no '/', no space
  std::size_t min_members = 1;  // minimum number of members of a group
  // How long a new group waits for members that may be alive but do not answer, because their
  // process is stopped or their machine is disconnected.
  Milliseconds settle{500};
  Milliseconds patience{60000};  // maximum time to wait for a group
  std::int64_t lease = 5;        // seconds
  // Its timeout must be longer than the slowest step of a member. `on_broken` and `cancelled` are
  // not used; a thread of the member calls `on_unauthenticated_peer`.
  GroupOptions group = {.form_timeout = Milliseconds(2000)};
};

// Saves the state of a member and restores that of another one. Called only within begin() and
// step().
struct ElasticState {
  std::function<std::vector<std::byte>()> save;  // the state after committed() steps
  std::function<void(std::span<const std::byte>)> restore;
  // Called on all members of a group without any member of an earlier group, with the number of its
  // generation. Returns the number of committed steps of the state with which all continue. Without
  // it, all take the state of the member with the most steps.
  std::function<std::int64_t(std::int64_t generation)> found = {};
};

// For one thread. A separate thread answers other members while that one computes.
class ElasticGroup {
 public:
  // Joins with a state after `committed` steps. It is used only if no member of an earlier group
  // remains; then all take the state of the member with the most steps. The store outlives the
  // group. While the store is unavailable, a group continues, but no new one can form.
  ElasticGroup(Store& store, const ElasticOptions& options, ElasticState state,
               std::int64_t committed = 0);
  // Leaves. The others form a new group at their next operation.
  ~ElasticGroup();
  ElasticGroup(const ElasticGroup&) = delete;
  ElasticGroup& operator=(const ElasticGroup&) = delete;

  // Returns the group for the next step: the same as before while it is whole. It may restore the
  // state of another member, and committed() may change, so call it before computing the inputs of
  // the step. Errors: Unavailable if no group forms in time; errors of the callbacks.
  std::shared_ptr<Group> begin();
  // Commits a step. Calls `exchange` with a group, and again with the next group if that breaks;
  // `exchange` must keep its inputs. Returns true if the step is committed, by this group or, after
  // a successful `exchange`, by others. Returns false if the group continued without this member:
  // the state of another member was restored, and the step must be computed again. Errors: as
  // begin(), and all errors of `exchange` except GroupBroken.
  bool step(const std::function<void(const std::shared_ptr<Group>&)>& exchange);

  std::int64_t committed() const;  // fewer than before if begin() or step() restored a state
  std::int64_t breaks() const;     // how many groups formed after the first one

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trireme::distributed
