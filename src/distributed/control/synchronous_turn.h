#pragma once

// The batch of a trainer in synchronous steps, which all members of a generation take together,
// with or without a batch: in which steps it takes part, and what happens to it when a generation
// ends during a step.
//
// Two rules apply then. Some servers may have applied the step already with the pushes of the
// earlier members, and accept no more for it: so in the first step of a generation a batch takes
// part only if it began in that step. And a member that was disconnected, with an expired lease,
// does not decide about its batch: the others may have finished the step without it.

#include <cstdint>
#include <optional>

#include "distributed/control/job_view.h"

namespace trireme::distributed {

// For each step: take a batch if one is wanted; begin(); the step; finish() after it, or enter() if
// its generation ended.
class SynchronousTurn {
 public:
  // What to do with the current batch, if there is one. Except for `again`, the turn then has none.
  enum class BatchOutcome {
    done,  // nothing: it was trained; all finished the step, but this member did not get the answer
    again,      // it stays for later steps
    forgotten,  // its task is from before a rollback
    released    // all tasks of this trainer must be handed out again, even without a batch
  };

  // This trainer is a member of the generation that begins with this view. `away`: it was
  // disconnected in between.
  BatchOutcome enter(const JobView& view, bool away);

  bool wants_batch() const { return !batch_ && !first_; }
  // Takes a batch of a task that was given after this number of rollbacks.
  void take(std::uint32_t rollbacks);
  // Before the step of that number: whether the batch takes part. Errors: StaleGeneration if the
  // batch is newer than the generation, which has ended then.
  bool begin(std::uint64_t step);
  // All members finished the step. Returns whether the batch was trained; then the turn has none.
  bool finish();

 private:
  struct Batch {
    std::uint32_t rollbacks = 0;
    std::uint64_t begun = 0;  // the step in which it takes part; 0: none yet
  };
  BatchOutcome outcome_in(const JobView& view, bool away) const;

  std::optional<Batch> batch_;
  std::uint32_t rollbacks_ = 0;  // of the generation
  bool first_ = true;            // its first step is not finished
  bool taking_part_ = false;     // the batch takes part in the current step
};

}  // namespace trireme::distributed
