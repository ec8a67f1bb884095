#pragma once

// Runs a Program in Sessions of every kind and compares its outputs with the double-precision
// evaluator.

#include <optional>
#include <string>

#include "ops/reference.h"
#include "trireme/program.h"

namespace trireme::differential {

// What the evaluator returns, and how much each element may differ. Elements that depend on how
// operands are rounded, such as the position of the larger of two nearly equal numbers, may differ
// by any amount: the evaluator repeats the run with small random errors to find them.
struct Expected {
  std::vector<ops::RefTensor> values;
  std::vector<std::vector<double>> tolerances;
};
// `error` is the relative error of a rounded number and `repeats` the number of repetitions.
Expected expected_of(const Program& program, const ops::RefTensors& inputs, double error,
                     int repeats);

// Returns how the outputs of one kind of Session differ, with the kind and the element; nullopt if
// those of all kinds agree. `thorough` tries all kinds instead of some that `seed` chooses, and
// repeats the evaluator more often. Error(data) of the evaluator passes through.
std::optional<std::string> difference(const Program& program, const ops::RefTensors& inputs,
                                      std::uint64_t seed, bool thorough);

// Replaces ops by inputs that hold their results, and drops outputs, as long as a difference
// remains. Returns the Program's text and the numbers of its inputs.
std::string shrunk(const Program& program, const ops::RefTensors& inputs);

}  // namespace trireme::differential
