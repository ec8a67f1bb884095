#pragma once

// The interface behind nn::Step. rnn() builds one kind of block with it, generation another.

#include <vector>

#include "ir/program.h"
#include "trireme/rnn.h"

namespace trireme::nn {

// The functions of Step, called while a LocationScope object is open.
class StepBuilder {
 public:
  virtual ~StepBuilder() = default;
  virtual Value input(const Value& x) = 0;
  virtual Value static_input(const Value& x) = 0;
  virtual Value state(const StateOptions& options, const SourceLocation& where) = 0;
  virtual void update(const Value& state, const Value& next) = 0;
  virtual void output(const Value& value) = 0;
  virtual void attention(const Value& weights) = 0;
};

// Returns the initial value of a state according to `options`: a row for each of `rows`, built in
// `block`.
Value initial_state(const StateOptions& options, const Dim& rows, ir::Block& block,
                    const SourceLocation& where);

// A state in the block of a step, and its next value.
struct StepState {
  ir::Value* inside;
  ir::Value* outside;
  ir::Value* next = nullptr;
};
// Error(usage) as documented at Step::update().
void update_state(std::vector<StepState>& states, const Value& state, const Value& next);
// Error(usage) with `what` unless all states are updated.
void require_updated(const char* what, const std::vector<StepState>& states);

}  // namespace trireme::nn
