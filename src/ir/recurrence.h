#pragma once

// The ops `rnn` and `packed_rnn`, their operands and results by what they are for. Their block is a step:
// its values have a row for each sequence that is still running.

#include <utility>
#include <vector>

#include "ir/program.h"

namespace trireme::ir {

// The dimension `active` of a step's values, and how its other dimensions are called outside.
struct StepDims {
  Dim active;  // sequences that have a row at this step
  Dim rows;    // of all sequences
  Dim batch;   // sequences
  // Rows of sequences of the next level, and of what else is split: in the step, and outside.
  std::vector<std::pair<Dim, Dim>> of_sequences, of_others;

  bool is_inside(const Dim& dim) const;               // a dimension of rows in the step
  Dim outside(const Dim& inside, bool by_row) const;  // by row, or by sequence
};

// Read off the types of operands, the memories being from `first` on, and of the step's arguments, which
// are one for each of these operands. TypeError if they do not fit.
StepDims step_dims(const std::vector<Type>& operands, const Block& body,
                   const Attributes& attributes, const Dim& batch, const Dim& rows,
                   std::size_t first);

struct Recurrence {
  explicit Recurrence(const Op& op);

  const Op& op;
  const Block& body;
  std::size_t first = 1;  // operand `first` + i is for argument i of the step
  // The arguments are memories, then sequences (a row for each step), then others.
  std::size_t memories, sequences, outputs;
  bool reverse;
  StepDims dims;

  Value* operand(std::size_t argument) const { return op.operands[first + argument]; }
  bool is_sequence(std::size_t argument) const {
    return argument >= memories && argument < memories + sequences;
  }
};

}  // namespace trireme::ir
