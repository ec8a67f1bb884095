#pragma once

// Programs at random. Each step takes an op of the catalog with one of its samples, gives it other
// sizes and operands from earlier steps, and keeps its results if they stay finite. Some steps are
// conditions and loops, whose blocks are made in the same way. The idea is NNSmith's: Liu et al.,
// ASPLOS 2023.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/reference.h"
#include "trireme/program.h"

namespace trireme::differential {

// How the numbers of an input are drawn: uniform in [low, high), or row splits.
struct InputSpec {
  std::string name;
  ir::Type type;
  double low = -2, high = 2;
  std::uint64_t seed = 0;
};

struct Generated {
  std::unique_ptr<Program> program;
  std::vector<InputSpec> inputs;
  std::vector<Value> fetches;  // results and gradients
  std::uint64_t seed = 0;
};

// The same seed makes the same Program. nullopt if no step succeeded.
std::optional<Generated> generate(std::uint64_t seed);

// Numbers for the inputs, at these sizes of the symbols.
ops::RefTensors numbers_for(const std::vector<InputSpec>& inputs, const SymbolSizes& sizes);

// The symbols of all Programs and their first sizes; other sizes are tried later.
SymbolSizes first_sizes(std::uint64_t seed);

// The seed of all Sessions, and how the evaluator repeats their first run.
inline constexpr std::uint64_t kSessionSeed = 12345;
ops::EvaluateOptions first_run();

}  // namespace trireme::differential
