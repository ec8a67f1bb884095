#pragma once

// Runs a Program once in Sessions of every kind, and compares its outputs and the parameters after
// the run with the double-precision evaluator. `numbers` are those of inputs and parameters.

#include <optional>
#include <string>
#include <vector>

#include "ops/reference.h"
#include "trireme/program.h"

namespace trireme::differential {

// What the evaluator returns for the outputs and parameters, and how much each element may differ.
// Elements that depend on how operands are rounded, such as the position of the larger of two
// nearly equal numbers, may differ by any amount: the evaluator repeats the run with small random
// errors to find them.
struct Expected {
  std::vector<ops::RefTensor> values;
  std::vector<std::vector<double>> tolerances;
};
// `error` is the relative error of a rounded number and `repeats` the number of repetitions.
Expected expected_of(const Program& program, const ops::RefTensors& numbers, double error,
                     int repeats);

// Adds the initial values of parameters that have no numbers, such as the state of an optimizer.
void add_initial_values(const Program& program, ops::RefTensors& numbers);

// Returns how the outputs of one kind of Session differ, with the kind and the element; nullopt if
// those of all kinds agree. `thorough` tries all kinds instead of some that `seed` chooses, and
// repeats the evaluator more often. Error(data) of the evaluator passes through.
std::optional<std::string> difference(const Program& program, const ops::RefTensors& numbers,
                                      std::uint64_t seed, bool thorough);

// Replaces ops by inputs that hold their results, and drops assigns and outputs, as long as a
// difference remains. Returns the Program's text and the numbers of its inputs and parameters.
std::string shrunk(const Program& program, const ops::RefTensors& numbers);

}  // namespace trireme::differential
