#include "ops/recurrence.h"
#include "ops/segments.h"

namespace trireme::ops {

Op rnn() {
  Op op(
      "rnn(splits, values...; active: shape, memories: int, sequences: int, reverse: bool = false) "
      "-> results...");
  op.doc =
      "A step, its block, run along sequences. `splits` [batch + 1] are those of `rows`. The "
      "values are "
      "first memories [batch, ...], what they hold before the first step; then what has a row for "
      "each "
      "step, [rows, ...]; then all others. The block takes, for the sequences that have a row at "
      "the "
      "step, memories [active, ...], rows [active, ...], others [batch, ...] as [active, ...] and "
      "the "
      "rest as it is. It returns the new memories and then outputs [active, ...]. Results: the "
      "memories "
      "after each sequence's last step, and the outputs [rows, ...]. With `reverse` from the last "
      "row of "
      "each sequence to the first. Splits of `rows` among the row-wise values, or of rows of the "
      "batch "
      "among the others, make what they split ragged in the step, too. A memory without rows is "
      "handed "
      "from step to step as a whole. Made by nn::rnn.";
  op.traits = Trait::library | Trait::sequences;
  op.type = [](const TypeContext& c) {
    const Dim rows = rows_of_splits(c, 0);
    return recurrence_types(c, c.operands[0].shape[0] - 1, rows);
  };
  op.no_twin_reason =
      "it holds blocks; src/session/control_test.cc compares it with a plain interpreter";
  return op;
}

}  // namespace trireme::ops
