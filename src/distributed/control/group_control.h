#pragma once

// What the leader of a job does about a group whose members all have what is learned: data
// parallelism. As long as one of them lives, new ones get it from that one. A group of which nobody
// had been in one before asks the leader with what it is to begin, and gets the newest checkpoint;
// the queue of tasks goes back to it. One of the members writes checkpoints.

#include <functional>
#include <optional>

#include "distributed/control/cuts.h"
#include "distributed/control/group_keys.h"
#include "distributed/master/master.h"

namespace trireme::distributed {

// One thread calls look() again and again.
class GroupControl {
 public:
  // All outlive the object. The master has the option `hold`.
  GroupControl(Store& store, Master& master, const CutOptions& options);

  // Does what is to be done now, if this master leads. What could not be reached is tried again at
  // the next look. Errors: what no later look would mend.
  void look();

 private:
  using Clock = std::chrono::steady_clock;
  void begin();
  void look_as_leader();
  void start(std::int64_t generation);
  bool save(const QueueState& queue, bool over);
  bool commit(const GroupSaved& saved, const QueueState& queue, bool over);

  Store& store_;
  Master& master_;
  const CutOptions options_;
  Cuts cuts_;
  GroupStart start_;  // the last one
  std::optional<checkpoint::Begun> asked_;
  Clock::time_point asked_at_ = {};
};

}  // namespace trireme::distributed
