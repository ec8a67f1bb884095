#pragma once

#include "ir/op_def.h"

namespace trireme::transforms {

// The gradient rule of ops with blocks: cond, scan, while_loop and rnn. Each becomes an op of the same
// kind that runs backwards. A loop's gradient takes from the loop what is dear to compute (products,
// library kernels, random numbers) and what the memories held before each step; the loop gets further
// outputs for these. It computes all else again.
void differentiate_blocks(ir::GradientContext& context);

}  // namespace trireme::transforms
