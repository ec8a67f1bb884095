#pragma once

#include "trireme/ops.h"
#include "trireme/optimizer.h"

namespace trireme::nn {

// The learning rate as a value of the Program, from the step as a scalar f64.
Value rate_at(const Schedule& schedule, const Value& step);

// What a plateau schedule remembers, each in an f64 scalar parameter of this name.
inline constexpr const char* kPlateauFactor = "optimizer.plateau_factor";    // 1 at first
inline constexpr const char* kPlateauBest = "optimizer.plateau_best";        // NaN at first
inline constexpr const char* kPlateauWaited = "optimizer.plateau_waited";    // measurements
inline constexpr const char* kPlateauCooling = "optimizer.plateau_cooling";  // measurements

// Makes these parameters; gives the factor.
Value plateau_factor(ir::Program& program);

struct PlateauState {
  double factor = 1, best = 0, waited = 0, cooling = 0;  // best is NaN before the first measurement
};
PlateauState after_measuring(PlateauState state, const Plateau& plateau, double measured);

}  // namespace trireme::nn
