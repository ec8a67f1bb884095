#pragma once

// A trainer's batch in synchronous steps, which all members of a generation take together, with a
// batch or without one: in which steps it takes part, and what becomes of it when a generation ends
// in the middle of one.
//
// Two things are to be heeded then. Some servers may have applied the step already with what the
// members of that time had pushed, and take nothing more of it: in the first step of a generation a
// batch takes part only if it was begun in that very step. And a member that was away, its lease
// having ended, says nothing of its batch: the others may have finished the step without it.

#include <cstdint>
#include <optional>

#include "distributed/control/job_view.h"

namespace trireme::distributed {

// For each step: a batch is taken if one is wanted; begin(); the step; finish() when it is through,
// or enter() if it ended with its generation.
class SynchronousTurn {
 public:
  // What is to be done with the batch in hand, if there is one. But for `again` the turn has none
  // any more.
  enum class Fate {
    done,   // nothing: it was learned, all having finished the step, which this member did not hear
    again,  // it stays for steps to come
    forgotten,  // its task is of before the job went back to a checkpoint
    released  // it, and all tasks that this trainer has, are to be handed out again, also if there is none in hand
  };

  // This trainer is a member of the generation that begins with this view. `away`: it was not all
  // the time since the one before.
  Fate enter(const JobView& view, bool away);

  bool wants_batch() const { return !batch_ && !first_; }
  // There is a batch now, of a task that was given after so many rollbacks.
  void take(std::uint32_t rollbacks);
  // Before the step of that number: whether the batch takes part. Errors: StaleGeneration, if the
  // batch is of a later time than the generation, which is over then.
  bool begin(std::uint64_t step);
  // All have finished it. Whether the batch was learned; then the turn has none any more.
  bool finish();

 private:
  struct Batch {
    std::uint32_t rollbacks = 0;
    std::uint64_t begun = 0;  // the step in which it takes part; 0: it has not been in any
  };
  Fate fate_in(const JobView& view, bool away) const;

  std::optional<Batch> batch_;
  std::uint32_t rollbacks_ = 0;  // of the generation
  bool first_ = true;            // its first step is not through
  bool taking_part_ = false;     // the batch, in the step that was begun
};

}  // namespace trireme::distributed
