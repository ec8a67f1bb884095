#pragma once

// Classifies the values in the step of an rnn by their dependences, and so by where they can be
// computed.

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/recurrence.h"

namespace trireme::transforms {

enum class Place : std::uint8_t {
  outside,    // depends on nothing of the sequences: computed once
  sequences,  // depends on values read at all steps of a sequence: once per sequence
  rows,       // depends on values read step by step: for all steps at once
  step        // depends on a memory, or cannot be computed for all rows at once: step by step
};

class StepPlaces {
 public:
  explicit StepPlaces(const ir::Recurrence& rnn);

  Place of(const ir::Value* value) const { return places_.at(value); }
  // Whether computing the op for all steps at once is faster.
  bool is_costly(const ir::Op& op) const;
  // Whether the op costs nothing anywhere: constants, and broadcasts of outer values.
  bool is_free(const ir::Op& op) const;
  // Whether each row of the results depends only on the same row of the operands, so that the op
  // does the same for all steps at once.
  bool is_by_row(const ir::Op& op) const;
  // Whether the op can be computed for all rows at once: it reads and writes no value with a row
  // for each row of another sequence. Such values, which every step reads in full, exist once per
  // sequence, not once per row.
  bool can_be_for_rows(const ir::Op& op) const;
  // Whether the op's result is a sum over the rows of the step, and so over the rows of all steps.
  bool is_additive(const ir::Op& op) const;
  // Returns the ops of the step that read the value.
  const std::vector<const ir::Op*>& users(const ir::Value* value) const;

 private:
  bool mentions_rows(const ir::Type& type) const;
  bool mentions_others(const ir::Type& type) const;
  std::vector<bool> rows_of_operands(const ir::Op& op, bool* valid) const;
  Place place_of(const ir::Op& op) const;

  const ir::Recurrence& rnn_;
  std::unordered_map<const ir::Value*, Place> places_;
  std::unordered_map<const ir::Value*, std::vector<const ir::Op*>> users_;
  std::vector<const ir::Op*> none_;
};

}  // namespace trireme::transforms
