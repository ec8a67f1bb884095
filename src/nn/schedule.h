#pragma once

#include "trireme/ops.h"
#include "trireme/optimizer.h"

namespace trireme::nn {

// Returns the learning rate as a value of the Program, from the step, an f64 scalar.
Value rate_at(const Schedule& schedule, const Value& step);

// The rate that a function of the user returned for `step`, as f64. Error(usage) if it is no rate
// of these steps.
Value as_rate(const Value& rate, const Value& step);

// The state of a plateau schedule, as counter_name() completes it. Each is an f64 scalar parameter.
inline constexpr const char* kPlateauFactor = "plateau_factor";  // 1 at first
inline constexpr const char* kPlateauBest = "plateau_best";      // NaN at first
inline constexpr const char* kPlateauWaited =
    "plateau_waited";  // number of measurements without improvement
inline constexpr const char* kPlateauCooling =
    "plateau_cooling";  // number of measurements left to cool down

// Creates these parameters of the updates of that name and returns the factor.
Value plateau_factor(ir::Program& program, const std::string& updates);

struct PlateauState {
  double factor = 1, best = 0, waited = 0, cooling = 0;  // best is NaN before the first measurement
};
PlateauState after_measuring(PlateauState state, const Plateau& plateau, double measured);

}  // namespace trireme::nn
