#pragma once

// A case: a Program made of one op of one sample, the numbers to feed it, and, where it can be
// differentiated, a loss and the gradients of the loss by the operands.

#include <memory>
#include <string>
#include <vector>

#include "ops/reference.h"
#include "trireme/program.h"

namespace trireme::conformance {

// Numbers to run a Program with.
struct Run {
  std::string label;  // "add #2 (f32[3, 5], f32[3, 5])"; for messages
  ops::RefTensors inputs, parameters;
};

struct Case {
  std::string op;    // what the row of the table is called
  std::string twin;  // the twin's expression; empty: compared with no twin
  Attributes attributes;
  double tolerance = 1e-5;
  bool updates = false;        // assigns to a parameter
  bool check_gradient = true;  // by finite differences and the twin
  std::unique_ptr<Program> program;
  std::vector<Run> runs;  // more than one where a size is a symbol
  std::vector<ir::Value*> operands;
  std::vector<ir::Value*> results;  // a parameter that was assigned to counts as one
  // loss = sum over float results of sum(result * weight), the weights being inputs. Null if there
  // is no float result or the op is not differentiable.
  ir::Value* loss = nullptr;
  std::vector<ir::Value*> weights;    // one per result; null for results that are no floats
  std::vector<ir::Value*> wanted;     // float operands
  std::vector<ir::Value*> gradients;  // of loss by wanted
};

// One of each sample and, where the op's type rule accepts it, a second one whose first dimension is
// the symbol `batch`, run with the sample's own size, with none and with four more.
std::vector<Case> cases_of(const ops::Op& op);

// Appends the loss and its gradients by `wanted` to the Program of a case whose results are set.
void differentiate(Case& c);

// Numbers uniform in [low, high), rounded to `type`; the same for the same seed.
ops::RefTensor random_tensor(const std::vector<std::int64_t>& shape, DType type, double low,
                             double high, std::uint64_t seed);

}  // namespace trireme::conformance
