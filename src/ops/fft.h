#pragma once

// Common code of the Fourier transforms of the last axis, whose complex numbers are real tensors
// with a last axis of size 2: the real and imaginary parts.

#include <complex>
#include <functional>
#include <vector>

#include "ops/common.h"

namespace trireme::ops {

using ComplexNumbers = std::vector<std::complex<double>>;

// TypeError unless x is f32 or f64 [..., n] with a constant n of at least 1. Returns n.
std::int64_t require_real_line(const char* op, const TypeContext& c);
// The same for [..., n, 2].
std::int64_t require_complex_line(const char* op, const TypeContext& c);

// Rules for ops that transform the last `rank` axes of operand 0.
std::function<bool(const ir::Op&, const std::vector<bool>&)> lines_row_wise(int rank);
std::function<std::vector<int>(const ir::Op&)> line_axes(int rank);
// The usual count of operations: 5 n log2(n) for n complex numbers, half of it for real ones.
Dim fft_flops(const Shape& shape, std::int64_t n);

// y[k] = the sum of x[j] * exp(sign * 2 pi i j k / n), by this definition.
ComplexNumbers transform_by_definition(const ComplexNumbers& x, double sign);

// Returns `weights` [size / 2 + 1] with `inner` for the numbers that stand for two of the `size`
// numbers of a whole spectrum, and 1 for the others, as [size / 2 + 1, 1] of the dtype of `like`.
Value spectrum_weights(const Value& like, std::int64_t size, double inner);

}  // namespace trireme::ops
