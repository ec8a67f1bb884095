#pragma once

// The layers, losses and optimizers as cases: what is built of ops, compared as a whole.

#include <string>
#include <vector>

#include "cases.h"

namespace trireme::conformance {

// Layers, activations and losses, each with random parameters, in training.
std::vector<Case> layer_cases();

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
