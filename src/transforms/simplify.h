#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Folds constants and applies algebra that changes no result, not even of NaN or infinity. Covers
// x*1, x+0, x-0, x/1, -(-x), pow with exponent 1 or 2, and select with equal operands; reshapes,
// transposes and broadcasts of each other, of constants, or without effect; transposed operands of
// matmul; rows of reordered rows; sums over sequences.
void simplify(ir::Program& program);

}  // namespace trireme::transforms
