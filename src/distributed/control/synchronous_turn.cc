#include "distributed/control/synchronous_turn.h"

#include <utility>

#include "base/error.h"

namespace trireme::distributed {

SynchronousTurn::BatchOutcome SynchronousTurn::enter(const JobView& view, bool away) {
  const BatchOutcome outcome = outcome_in(view, away);
  if (outcome != BatchOutcome::again) batch_.reset();
  rollbacks_ = view.rollbacks;
  first_ = true;
  taking_part_ = false;
  return outcome;
}

SynchronousTurn::BatchOutcome SynchronousTurn::outcome_in(const JobView& view, bool away) const {
  if (away) return BatchOutcome::released;
  if (!batch_) return BatchOutcome::again;
  if (batch_->rollbacks < view.rollbacks) return BatchOutcome::forgotten;
  return batch_->begun > 0 && batch_->begun <= view.step ? BatchOutcome::done : BatchOutcome::again;
}

void SynchronousTurn::take(std::uint32_t rollbacks) {
  if (batch_) fail_usage("SynchronousTurn: there is a batch already");
  batch_ = Batch{rollbacks};
}

bool SynchronousTurn::begin(std::uint64_t step) {
  if (batch_ && batch_->rollbacks > rollbacks_) throw StaleGeneration("a task of a later time");
  taking_part_ = batch_ && (!first_ || batch_->begun == step);
  if (taking_part_) batch_->begun = step;
  return taking_part_;
}

bool SynchronousTurn::finish() {
  first_ = false;
  if (taking_part_) batch_.reset();
  return std::exchange(taking_part_, false);
}

}  // namespace trireme::distributed
