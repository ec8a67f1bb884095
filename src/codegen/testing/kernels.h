#pragma once

// Kernels that tests run on the interpreter and on compiled code.

#include <cstdint>
#include <string>
#include <vector>

#include "kernel_ir/kernel.h"

namespace trireme::codegen::testing {

kernel_ir::Kernel elementwise_chain(int lanes);  // y = tanh(x * w + 1) max 0.1, n elements
kernel_ir::Kernel unary_map(kernel_ir::ExprOp op, DType type, int lanes);  // y = op(x)
kernel_ir::Kernel row_softmax(int lanes, int unroll);                      // sizes rows, columns
kernel_ir::Kernel layer_norm(int lanes, int unroll);  // sizes rows, columns; y = norm(x) * g + b
kernel_ir::Kernel column_sums(int lanes);             // tiles of columns; rows in the middle
kernel_ir::Kernel row_argmax(int lanes, int unroll, kernel_ir::ReduceOp op);
kernel_ir::Kernel padded_shift(int lanes);   // y[i] = x[i - 3] where there is one
kernel_ir::Kernel broadcast_add(int lanes);  // y[i] = x[i] + b[i / inner % channels] * c[i % 48]
kernel_ir::Kernel row_gather(int lanes);     // y[i, j] = table[ids[i], j]
kernel_ir::Kernel transposed(int lanes);     // y[i, j] = x[j, i]
kernel_ir::Kernel adam(int lanes);           // in-place update of p, m, v
kernel_ir::Kernel cast_map(DType from, DType to, int lanes);
kernel_ir::Kernel scratch_rows(int lanes);  // squares to scratch, then reversed sums
// c = a b + the number of the block's first row, a block of `rows` x lanes of c at a time in
// accumulators, and d = that number, in vectors of other widths; sizes m, n, k
kernel_ir::Kernel tiled_product(int rows, int lanes);
// c = a b for a [m, 4 k], u8 or i8, or [m, 2 k], i16, read as words, and words b [k, n]; e is the
// same with words of a that vector lanes read, e [m, n] = a's words [m, n] times b's first row;
// sizes m, n, k
kernel_ir::Kernel byte_product(DType a, int lanes);

}  // namespace trireme::codegen::testing
