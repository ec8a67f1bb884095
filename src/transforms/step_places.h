#pragma once

// What each value in the step of an rnn depends on, and so where it can be computed.

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/recurrence.h"

namespace trireme::transforms {

enum class Place : std::uint8_t {
  outside,    // on nothing of the sequences: once
  sequences,  // on what each sequence reads at all its steps: once for each of them
  rows,       // on what it reads step by step: for all steps at once
  step        // on a memory, or it cannot be computed for all rows at once: step by step
};

class StepPlaces {
 public:
  explicit StepPlaces(const ir::Recurrence& rnn);

  Place of(const ir::Value* value) const { return places_.at(value); }
  // Worth being computed for all steps at once.
  bool is_costly(const ir::Op& op) const;
  // As cheap wherever it is needed: constants, and what is spread out from outside.
  bool is_free(const ir::Op& op) const;
  // Whether each row of the results depends on the same row of the operands alone, so that the op does the
  // same for all steps at once.
  bool is_by_row(const ir::Op& op) const;
  // Whether it can do so: nothing it reads or makes has a row for each row of another sequence, as what is
  // looked at at every step has; those are there once for each sequence, not once for each of its rows.
  bool can_be_for_rows(const ir::Op& op) const;
  // Whether the op's result is a sum over the rows of the step, and of all steps.
  bool is_additive(const ir::Op& op) const;
  // The ops of the step that read the value.
  const std::vector<const ir::Op*>& users(const ir::Value* value) const;

 private:
  bool mentions_rows(const ir::Type& type) const;
  bool mentions_others(const ir::Type& type) const;
  std::vector<bool> rows_of_operands(const ir::Op& op, bool* good) const;
  Place place_of(const ir::Op& op) const;

  const ir::Recurrence& rnn_;
  std::unordered_map<const ir::Value*, Place> places_;
  std::unordered_map<const ir::Value*, std::vector<const ir::Op*>> users_;
  std::vector<const ir::Op*> none_;
};

}  // namespace trireme::transforms
