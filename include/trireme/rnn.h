#pragma once

// Recurrent networks: a step function that you write, applied along sequences of different lengths
// without padding. `auto [states] = nn::rnn([&](nn::Step& step) { ... });`

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"

namespace trireme::nn {

// The initial value of a memory (a state): `init` [n, ...], one row per sequence, or the number
// `value` in rows of `width` elements or of the shape `row`.
struct MemoryOptions {
  std::int64_t width = 0;
  Shape row = {};
  double value = 0;
  Value init = {};
  DType dtype = DType::f32;
};

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
  Value memory(const MemoryOptions& options, SourceLocation where = SourceLocation::current());
  // Sets the value of `memory` at the next step, with its dtype and shape. Call it once for each
  // memory.
  void update(const Value& memory, const Value& next,
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

struct RnnResult {
  std::vector<Value> outputs;   // [rows, ...]
  std::vector<Value> memories;  // [n, ...]: after the last step of each sequence
};

// Errors: usage, with the step's line: a memory without update() or updated with another shape; a
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
