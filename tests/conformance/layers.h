#pragma once

// The layers, losses and optimizers as cases: what is built of ops, compared as a whole.

#include <functional>
#include <string>
#include <vector>

#include "cases.h"

namespace trireme::conformance {

// Layers, activations and losses, each with random parameters, in training.
std::vector<Case> layer_cases();
std::vector<Case> loss_cases();                // layer_cases() has them too
void add_windows(std::vector<Case>& cases);    // convolutions and pooling: layers_windows.cc
void add_attention(std::vector<Case>& cases);  // up to Transformers: layers_attention.cc
void add_recurrent(std::vector<Case>& cases);  // layers_recurrent.cc
void add_ragged(std::vector<Case>& cases);     // layers_sequences.cc

struct Input {
  std::vector<std::int64_t> shape;
  DType dtype = DType::f32;
  double low = -2, high = 2;
};
using Build = std::function<Value(const std::vector<Value>& x)>;
// One row. `twin` sees the inputs as x[0] ..., then the parameters in the order of their creation,
// which are in [low, high).
Case layer(const std::string& name, const std::vector<Input>& inputs, const Build& build,
           const std::string& twin, double low = 0.25, double high = 1.5);

// One optimizer: the parameter "w" of a linear regression, or a table of which each step looks up
// other rows, and the Program that trains it.
struct TrainingCase {
  Case c;  // operands w, x, t; the result is w after kSteps steps
  static constexpr int kSteps = 50;
};
std::vector<TrainingCase> training_cases();
std::vector<TrainingCase> sparse_training_cases();

// The learning rates of a schedule's first steps.
std::vector<Case> schedule_cases();

}  // namespace trireme::conformance
