#pragma once

// A case: a Program with one op of one sample, and the numbers to feed to it. If the op can be
// differentiated, the Program also has a loss and the gradients of the loss with respect to the
// operands.

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
  std::string op;  // the name of the row in the table
  std::string
      torch_reference;  // PyTorch expression of the independent reference; empty: not compared
  Attributes attributes;
  double tolerance = 1e-5;
  bool updates = false;        // assigns to a parameter
  bool check_gradient = true;  // with finite differences and with PyTorch
  std::unique_ptr<Program> program;
  std::vector<Run> runs;  // several if a size is a symbol
  std::vector<ir::Value*> operands;
  std::vector<ir::Value*> results;  // includes a parameter that the op assigns to
  // loss = sum over the float results of sum(result * weight), where the weights are inputs. Null
  // if there is no float result or the op is not differentiable.
  ir::Value* loss = nullptr;
  std::vector<ir::Value*> weights;    // one per result; null for results that are not floats
  std::vector<ir::Value*> wanted;     // float operands
  std::vector<ir::Value*> gradients;  // of loss with respect to `wanted`
};

// Returns one case for each sample. If the op's type rule accepts it, a second case has the symbol
// `batch` as its first dimension. It runs with the sample's size, with 0, and with 4 more.
std::vector<Case> cases_of(const ops::Op& op);

// Appends the loss and its gradients with respect to `wanted` to the Program of a case whose
// results are set.
void differentiate(Case& c);

// Returns uniform numbers in [low, high), rounded to `type`. The same seed gives the same numbers.
ops::RefTensor random_tensor(const std::vector<std::int64_t>& shape, DType type, double low,
                             double high, std::uint64_t seed);

}  // namespace trireme::conformance
