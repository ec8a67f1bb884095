#pragma once

#include <functional>

#include "ir/program.h"

namespace trireme::transforms {

// Replaces convolutions of channels-last images, their gradients by the input where the stride is 1,
// and matrix products, each where `wanted` holds, by direct_conv2d, winograd_conv2d and
// direct_matmul, which become generated kernels. Weights and transposed matrices are brought into the order that those want by
// transposes of their own. The gradient by the input is the convolution of the result's gradient
// with the window turned around.
// Products over all rows of sequences, of which there are many, become packed_matmul instead.
void use_direct_kernels(ir::Program& program, const std::function<bool(const ir::Op&)>& wanted);

// The matrix `weight` [k, n] with its columns in strips, [n / width, k, width], as packed_matmul takes it;
// null where that gains nothing: where it is small or has no whole strips.
ir::Value* packed_columns(ir::Program& program, const ir::Op& like, ir::Value* weight);

}  // namespace trireme::transforms
