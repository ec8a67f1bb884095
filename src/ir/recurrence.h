#pragma once

// A view of the ops `rnn` and `packed_rnn` that sorts operands and results by role. The block of
// the op is one step. Values in the step have one row for each sequence that is still running.

#include <utility>
#include <vector>

#include "ir/program.h"

namespace trireme::ir {

// The dimensions of values in a step, and the dimensions that they correspond to outside.
struct StepDims {
  Dim active;  // number of sequences that have a row at this step
  Dim rows;    // number of rows of all sequences
  Dim batch;   // number of sequences
  // Pairs of a dimension in the step and the dimension outside: rows of the sequences of the next
  // level, and rows of other ragged values.
  std::vector<std::pair<Dim, Dim>> of_sequences, of_others;

  bool is_inside(const Dim& dim) const;  // whether `dim` counts rows in the step
  // The outer dimension; `by_row` for a value with a row per step, otherwise one per sequence.
  Dim outside(const Dim& inside, bool by_row) const;
};

// Derives the dimensions from the types of the operands and of the step's arguments. Operand
// `first` + i belongs to argument i; states come first. TypeError if the types do not match.
StepDims step_dims(const std::vector<Type>& operands, const Block& body,
                   const Attributes& attributes, const Dim& batch, const Dim& rows,
                   std::size_t first);

struct Recurrence {
  explicit Recurrence(const Op& op);

  const Op& op;
  const Block& body;
  std::size_t first = 1;  // operand `first` + i belongs to argument i of the step
  // Arguments are ordered: states, sequences (one row for each step), others.
  std::size_t states, sequences, outputs;
  bool reverse;
  StepDims dims;

  Value* operand(std::size_t argument) const { return op.operands[first + argument]; }
  bool is_sequence(std::size_t argument) const {
    return argument >= states && argument < states + sequences;
  }
};

}  // namespace trireme::ir
