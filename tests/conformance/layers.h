#pragma once

// Cases of the layers, losses and optimizers, each compared as a whole.

#include <functional>
#include <string>
#include <vector>

#include "cases.h"

namespace trireme::conformance {

// Layers, activations and losses, each with random parameters, in training mode.
std::vector<Case> layer_cases();
std::vector<Case> loss_cases();                  // layer_cases() includes them
void add_windows(std::vector<Case>& cases);      // convolutions and pooling: layers_windows.cc
void add_attention(std::vector<Case>& cases);    // attention and Transformers: layers_attention.cc
void add_recurrent(std::vector<Case>& cases);    // layers_recurrent.cc
void add_ragged(std::vector<Case>& cases);       // layers_sequences.cc
void add_functions(std::vector<Case>& cases);    // layers_functions.cc
void add_compression(std::vector<Case>& cases);  // layers_compression.cc

struct Input {
  std::vector<std::int64_t> shape;
  DType dtype = DType::f32;
  double low = -2, high = 2;
};
using Build = std::function<Value(const std::vector<Value>& x)>;
// Returns one case, which is one row of the table. The PyTorch expression `torch_reference` sees
// the inputs as x[0] ..., then the parameters in creation order. The parameters are in
// [low, high).
Case layer(const std::string& name, const std::vector<Input>& inputs, const Build& build,
           const std::string& torch, double low = 0.25, double high = 1.5);

// The training of one parameter "w" with one optimizer. "w" is the weight of a linear regression,
// or a table in which each step looks up different rows.
struct TrainingCase {
  Case c;  // operands w, x, t; the result is w after kSteps steps
  static constexpr int kSteps = 50;
};
std::vector<TrainingCase> training_cases();
std::vector<TrainingCase> sparse_training_cases();

// The learning rates of the first steps of each schedule.
std::vector<Case> schedule_cases();
// The minima that methods outside of Programs find.
std::vector<Case> minimization_cases();

}  // namespace trireme::conformance
