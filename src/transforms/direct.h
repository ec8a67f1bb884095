#pragma once

#include <functional>

#include "ir/builder.h"

namespace trireme::transforms {

// The form of the first operand of products of bytes that kernels of the target compute fastest.
// The second operand is i8.
enum class ByteForm : std::uint8_t { pairs, unsigned_bytes, signed_bytes };

// Replaces ops for which `wanted` returns true by direct_conv2d, winograd_conv2d and direct_matmul,
// which become generated kernels. These ops are convolutions of channels-last images, their input
// gradients with stride 1, and matrix products. Transposes put weights and transposed matrices into
// the required order. The input gradient is the convolution of the result's gradient with the
// flipped window. Products over all rows of sequences, which are many, become packed_matmul
// instead.
// Convolutions and products of bytes always become such kernels.
void use_direct_kernels(ir::Program& program, const std::function<bool(const ir::Op&)>& wanted,
                        ByteForm form);

// Returns the matrix `weight` [k, n] packed in strips of columns, [n / width, k, width], for
// packed_matmul. Returns null if packing gains nothing: if the matrix is small or has no whole
// strips.
ir::Value* packed_columns(ir::Builder& b, ir::Value* weight);

}  // namespace trireme::transforms
