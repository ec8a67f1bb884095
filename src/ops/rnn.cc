#include "ops/recurrence.h"
#include "ops/segments.h"

namespace trireme::ops {

Op rnn() {
  Op op(
      "rnn(splits, values...; active: shape, states: int, sequences: int, reverse: bool = false) "
      "-> results...");
  op.old_attributes = {{"memories", "states"}};
  op.doc =
      "Runs a step, which is its block, along sequences.\n"
      "`splits` [batch + 1] splits the dimension `rows` into sequences.\n"
      "The values are, in this order, states, sequences and others.\n"
      "Memories [batch, ...] are the states before the first step.\n"
      "Sequences [rows, ...] have a row for each step.\n"
      "Others are all remaining values.\n"
      "The block gets values for the sequences that have a row at the step.\n"
      "These are states [active, ...] and rows [active, ...].\n"
      "Others [batch, ...] become [active, ...], and all remaining values are passed "
      "unchanged.\n"
      "The block returns the new states, followed by outputs [active, ...].\n"
      "The results are the states after the last step of each sequence, and the outputs "
      "[rows, ...].\n"
      "With `reverse`, each sequence runs from its last row to its first.\n"
      "Splits of `rows` among the sequences, or of rows of the batch among the others, are "
      "allowed.\n"
      "The values that they split are then ragged in the step, too.\n"
      "A state without rows is passed from step to step as a whole.\n"
      "nn::rnn builds it.";
  op.traits = Trait::library | Trait::sequences;
  op.control = ir::ControlFlow::rnn;
  op.type = [](const TypeContext& c) {
    const Dim rows = rows_of_splits(c, 0);
    return recurrence_types(c, c.operands[0].shape[0] - 1, rows);
  };
  op.no_torch_reason =
      "it holds blocks; tests/nn/control_test.cc compares it with a plain interpreter";
  return op;
}

}  // namespace trireme::ops
