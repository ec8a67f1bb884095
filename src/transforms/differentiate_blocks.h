#pragma once

#include "ir/op_def.h"

namespace trireme::transforms {

// The gradient rule of ops with blocks: cond, scan, while_loop and rnn. The gradient is an op of
// the same kind; loops run in the other direction. The gradient of a loop reads expensive values
// (products, library kernels, random numbers) and the states before each step from the loop,
// which gets additional outputs for them. It recomputes all other values.
void differentiate_blocks(ir::GradientContext& context);

}  // namespace trireme::transforms
