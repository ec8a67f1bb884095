#pragma once

// Recurrent networks: a step function that you write, applied along sequences of different lengths
// without padding. `auto [states] = nn::rnn([&](nn::Step& step) { ... });`

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"

namespace trireme::nn {

// The initial value of a state: `init` [n, ...], one row per sequence, or the number
// `value` in rows of `width` elements or of the shape `row`.
struct StateOptions {
  std::int64_t width = 0;
  Shape row = {};
  double value = 0;
  Value init = {};
  DType dtype = DType::f32;
};

using MemoryOptions [[deprecated("use StateOptions")]] = StateOptions;

class StepBuilder;

// One step of a recurrent network; valid while its function is running. Values of a step have one
// row per sequence that is still running (active). All computations must be row-wise. Values from
// outside, such as weights and numbers, can be used directly unless they have rows of the
// sequences: pass those through input() and static_input(). A step may contain anything, including
// other rnns.
//
// When a function of trireme/decoding.h runs the step, a sequence is a hypothesis. input() and
// output() are then errors, because the input is the words and the output is the logits.
class TRIREME_API Step {
 public:
  explicit Step(StepBuilder& builder) : builder_(&builder) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // The row of x [rows, ...] at this step: [active, ...]. The step runs along the sequences of the
  // first input. If x has one more level, the result is the sequence of this step, itself ragged.
  Value input(const Value& x, SourceLocation where = SourceLocation::current());
  // A value that each sequence reads at all its steps: x [n, ...] as [active, ...]. If x is ragged
  // over the same n, each sequence reads a whole other sequence, ragged in the step too, for
  // example the source that attention reads.
  Value static_input(const Value& x, SourceLocation where = SourceLocation::current());
  // The value that the previous step passed to update(), or the initial value.
  // Errors: usage, before the first input() if RnnOptions::over is empty.
  Value state(const StateOptions& options, SourceLocation where = SourceLocation::current());
  [[deprecated("use state()")]] Value memory(const StateOptions& options,
                                             SourceLocation where = SourceLocation::current()) {
    return state(options, where);
  }
  // Sets the value of `state` at the next step, with its dtype and shape. Call it once for each
  // state.
  void update(const Value& state, const Value& next,
              SourceLocation where = SourceLocation::current());
  // Adds an output of the network, [rows, ...]: `value` [active, ...] of each step.
  void output(const Value& value, SourceLocation where = SourceLocation::current());
  // Reports the attention weights of this step for a ragged static input: floats, one for each of
  // its rows; those of one sequence add up to 1. Only beam_search() uses them, to find which parts
  // of the source a hypothesis has covered.
  void attention(const Value& weights, SourceLocation where = SourceLocation::current());

 private:
  StepBuilder* builder_;
};

struct RnnOptions {
  bool reverse = false;  // from the last row of each sequence to the first
  Value over = {};       // a value of the sequences to run along, if not those of the first input()
};

// The old name of RnnResult::states.
class DeprecatedStates {
 public:
  DeprecatedStates() = default;
  explicit DeprecatedStates(const std::vector<Value>& states) : states_(states) {}
  [[deprecated("use RnnResult::states")]] const Value& operator[](std::size_t i) const {
    return states_[i];
  }
  [[deprecated("use RnnResult::states")]] std::size_t size() const { return states_.size(); }
  [[deprecated("use RnnResult::states")]] operator const std::vector<Value>&() const {  // NOLINT
    return states_;
  }

 private:
  std::vector<Value> states_;
};

struct RnnResult {
  std::vector<Value> outputs;  // [rows, ...]
  std::vector<Value> states;   // [n, ...]: after the last step of each sequence
  DeprecatedStates memories = {};
};

// Errors: usage, with the step's line: a state without update() or updated with another shape; a
// value of other sequences; an output without one row per sequence.
TRIREME_API RnnResult run_rnn(const std::function<void(Step&)>& step,
                              const RnnOptions& options = {},
                              SourceLocation where = SourceLocation::current());

TRIREME_API void require_outputs(const RnnResult& result, std::size_t count,
                                 const SourceLocation& where);

// Runs the network and returns only the outputs.
template <std::size_t N = 1>
std::array<Value, N> rnn(const std::function<void(Step&)>& step, const RnnOptions& options = {},
                         SourceLocation where = SourceLocation::current()) {
  const RnnResult result = run_rnn(step, options, where);
  require_outputs(result, N, where);
  std::array<Value, N> outputs;
  for (std::size_t i = 0; i < N; ++i) outputs[i] = result.outputs[i];
  return outputs;
}

}  // namespace trireme::nn
