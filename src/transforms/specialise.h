#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Replaces every when_training op by one of its operands, and removes stop_gradient, which matters
// only to autodiff.
void specialise(ir::Program& program, bool training);

}  // namespace trireme::transforms
