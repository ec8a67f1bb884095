#pragma once

// Programs at random. Each step takes an op of the catalog with one of its samples, gives it other
// sizes and operands from earlier steps, and keeps its results if they stay finite. Some steps are
// conditions, loops and recurrent networks, functions of ragged sequences, or assign parameters.
// The idea is NNSmith's: Liu et al., ASPLOS 2023.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/reference.h"
#include "trireme/program.h"

namespace trireme::differential {

// How the numbers of an input or parameter are drawn: uniform in [low, high), or row splits.
struct NumbersSpec {
  std::string name;
  ir::Type type;
  double low = -2, high = 2;
  std::uint64_t seed = 0;
  bool is_parameter = false;
};

struct Generated {
  std::unique_ptr<Program> program;
  std::vector<NumbersSpec> specs;
  std::vector<Value> fetches;  // results and gradients
  std::uint64_t seed = 0;
};

// The same seed makes the same Program. nullopt if no step succeeded.
std::optional<Generated> generate(std::uint64_t seed);

// Numbers for the inputs and parameters, at these sizes of the symbols.
ops::RefTensors numbers_for(const std::vector<NumbersSpec>& specs, const SymbolSizes& sizes);

// The first size of the symbol "batch"; other sizes are tried later.
std::int64_t first_batch(std::uint64_t seed);
// The symbols of a Program: "batch", and "words", the rows of "batch" ragged sequences.
SymbolSizes sizes_of(std::uint64_t seed, std::int64_t batch_size);

// The seed of all Sessions, and how the evaluator repeats their first run.
inline constexpr std::uint64_t kSessionSeed = 12345;
ops::EvaluateOptions first_run();

}  // namespace trireme::differential
