#pragma once

#include "ir/program.h"

namespace trireme::transforms {

// Folds constants and applies algebra that changes no result (not even of NaN or infinity): x*1,
// x+0, x-0, x/1, -(-x), pow with a small exponent, a select with equal sides; reshapes, transposes
// and broadcasts of each other, of constants or without effect; transposed operands of matmul; rows of
// reordered rows; sums over sequences.
void simplify(ir::Program& program);

}  // namespace trireme::transforms
