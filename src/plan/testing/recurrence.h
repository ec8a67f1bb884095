#pragma once

// For tests: a step that runs a block along sequences.

#include <memory>
#include <utility>

#include "plan/plan.h"

namespace trireme::plan {

// Buffers 0 to 4 of the Plan: the counts of sequences by step, the state, the rows; then the last
// states and all results. The block takes the state and a row of each sequence, and returns the
// next state and a result, all with the dimension "active".
inline Step rnn_step(std::shared_ptr<const Plan> block) {
  Step rnn{.name = "rnn", .buffers = {0, 1, 2, 3, 4}, .reads = {0, 1, 2}, .writes = {3, 4}};
  Control& control = rnn.control;
  control.kind = Control::Kind::rnn;
  control.blocks = {{std::move(block), {0, 1}}};
  control.extra = control.carried = control.sequences = 1;
  control.sizes = {{"active"}};
  control.argument_rows = control.result_rows = {0, 0};
  return rnn;
}

}  // namespace trireme::plan
