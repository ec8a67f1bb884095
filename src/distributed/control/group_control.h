#pragma once

// How the leader of a job handles a group whose members all have the whole model: data parallelism.
// While a member remains, new members get the model from it. A group without members of an earlier
// one asks the leader, and gets the newest checkpoint; the queue of tasks returns to it. One of the
// members writes checkpoints.

#include <functional>
#include <optional>

#include "distributed/control/checkpoint_coordinator.h"
#include "distributed/control/group_keys.h"
#include "distributed/master/master.h"

namespace trireme::distributed {

// One thread calls poll() repeatedly.
class GroupControl {
 public:
  // All arguments outlive the object. The master has the option `hold`.
  GroupControl(Store& store, Master& master, const CheckpointCoordinatorOptions& options);

  // Does what is due now if this master leads. Unreachable processes are tried again at the next
  // call. Errors: those that no later call can fix.
  void poll();

 private:
  using Clock = std::chrono::steady_clock;
  void begin();
  void poll_as_leader();
  void withdraw();
  std::int64_t put(std::vector<Action> actions);
  void start(std::int64_t generation);
  bool save(const QueueState& queue, bool over);
  bool commit(const GroupSaved& saved, const QueueState& queue, bool over);

  Store& store_;
  Master& master_;
  const CheckpointCoordinatorOptions options_;
  CheckpointCoordinator checkpoints_;
  GroupStart start_;                 // the last one, as the store has it
  std::int64_t start_revision_ = 0;  // that wrote it; 0: none
  bool order_out_ = false;           // the store may have an order to save
  std::optional<checkpoint::Begun> asked_;
  Clock::time_point asked_at_ = {};
};

}  // namespace trireme::distributed
