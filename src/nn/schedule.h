#pragma once

#include <string>

#include "trireme/ops.h"
#include "trireme/optimizer.h"

namespace trireme::nn {

// Returns the learning rate as a value of the Program, from the step, an f64 scalar. `prefix` is
// that of the names of state: "optimizer.".
Value rate_at(const Schedule& schedule, const Value& step,
              const std::string& prefix = "optimizer.");

// The state of a plateau schedule. Each is an f64 scalar parameter of this name.
inline constexpr const char* kPlateauFactor = "optimizer.plateau_factor";  // 1 at first
inline constexpr const char* kPlateauBest = "optimizer.plateau_best";      // NaN at first
inline constexpr const char* kPlateauWaited =
    "optimizer.plateau_waited";  // number of measurements without improvement
inline constexpr const char* kPlateauCooling =
    "optimizer.plateau_cooling";  // number of measurements left to cool down

// Creates these parameters and returns the factor.
Value plateau_factor(ir::Program& program);

struct PlateauState {
  double factor = 1, best = 0, waited = 0, cooling = 0;  // best is NaN before the first measurement
};
PlateauState after_measuring(PlateauState state, const Plateau& plateau, double measured);

}  // namespace trireme::nn
