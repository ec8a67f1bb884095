#pragma once

// Recurrent networks: a step that the user writes, run along sequences of different lengths without
// padding. `auto [states] = nn::rnn([&](nn::Step& step) { ... });`

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"

namespace trireme::nn {

// What a memory holds before a sequence's first step: `init` [n, ...], a row for each sequence, or the
// number `value` in rows of `width` elements or of the shape `row`.
struct MemoryOptions {
  std::int64_t width = 0;
  Shape row = {};
  double value = 0;
  Value init = {};
  DType dtype = DType::f32;
};

class StepBuilder;

// One step of a recurrent network, while its function is running. Values of a step have a row for each
// sequence that is still running, and whatever is computed must be computed row by row. Values from outside
// can be used as they are (weights, numbers), if they have no rows of the sequences: take those by input()
// and static_input(). A step may hold anything, other rnns too.
// Where a function of trireme/decoding.h runs the step, a sequence is a hypothesis: input() and output()
// are errors there, for it is the words that come in and the logits that go out.
class TRIREME_API Step {
 public:
  explicit Step(StepBuilder& builder) : builder_(&builder) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // The row of x [rows, ...] at this step: [active, ...]. The sequences of the first one are those that
  // the step runs along. Of x of a further level, the sequence of this step, itself ragged.
  Value input(const Value& x, SourceLocation where = SourceLocation::current());
  // What each sequence reads at all its steps: x [n, ...] as [active, ...]; or a whole other sequence for
  // each of them, x ragged over the same n, ragged in the step too: what attention looks at.
  Value static_input(const Value& x, SourceLocation where = SourceLocation::current());
  // What the step before gave to update(), or the beginning. Errors: usage, before the first input()
  // where RnnOptions::over does not say what is run along.
  Value memory(const MemoryOptions& options, SourceLocation where = SourceLocation::current());
  // What `memory` will hold at the next step; once for each memory, of its dtype and shape.
  void update(const Value& memory, const Value& next,
              SourceLocation where = SourceLocation::current());
  // A further value of the network, [rows, ...]: what `value` [active, ...] is at each step.
  void output(const Value& value, SourceLocation where = SourceLocation::current());
  // How much this step looks at each row of a ragged static input: floats [its rows], of which those of
  // one sequence add up to 1. Nothing is computed with it here; beam_search() tells by it which parts of
  // the source a hypothesis has covered.
  void attention(const Value& weights, SourceLocation where = SourceLocation::current());

 private:
  StepBuilder* builder_;
};

struct RnnOptions {
  bool reverse = false;  // from the last row of each sequence to the first
  Value over = {};  // any value of the sequences to run along, if not that of the first input()
};

struct RnnResult {
  std::vector<Value> outputs;   // [rows, ...]
  std::vector<Value> memories;  // [n, ...]: after the last step of each sequence
};

// Errors: usage, naming the step's line: a memory that is not updated, or with another shape; a value of
// other sequences; an output without a row for each sequence.
TRIREME_API RnnResult run_rnn(const std::function<void(Step&)>& step,
                              const RnnOptions& options = {},
                              SourceLocation where = SourceLocation::current());

TRIREME_API void require_outputs(const RnnResult& result, std::size_t count,
                                 const SourceLocation& where);

// The outputs alone.
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
