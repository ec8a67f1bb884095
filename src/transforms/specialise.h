#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Takes one side of every when_training op, and removes stop_gradient, which only speaks to
// autodiff.
void specialise(ir::Program& program, bool training);

}  // namespace trireme::transforms
