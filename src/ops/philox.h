#pragma once

// Counter-based random numbers: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel Random
// Numbers: As Easy as 1, 2, 3", SC 2011. A number depends on seed, stream and position alone, so it
// is the same on every device and thread count. Once for the host (references, initializers) and
// once as kernel IR; both give the same bits.

#include <array>
#include <cstdint>

#include "ops/op.h"

namespace trireme::ops {

using PhiloxWords = std::array<std::uint32_t, 4>;
PhiloxWords philox4x32_10(PhiloxWords counter, std::array<std::uint32_t, 2> key);

// The four random words of one element: counter = (position, stream), key = seed, low halves first.
PhiloxWords random_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t position);

// From the words of one element. For f32 a uniform number has 24 random bits, for f64 it has 53.
double uniform_number(const PhiloxWords& words, DType dtype);  // in [0, 1)
double normal_number(const PhiloxWords& words, DType dtype);   // Box-Muller: mean 0, variance 1
// Words below it are successes of a Bernoulli trial: probability * 2^32, between 0 and 2^32.
std::int64_t bernoulli_threshold(double probability);

// The same as kernel IR. Words are i64 expressions in [0, 2^32).
using PhiloxExprs = std::array<ExprId, 4>;
PhiloxExprs random_words(Lowering& l, std::int64_t stream);  // of the result's element at l.index()
ExprId uniform_number(kernel_ir::Builder& k, const PhiloxExprs& words, DType dtype);
ExprId normal_number(kernel_ir::Builder& k, const PhiloxExprs& words, DType dtype);

}  // namespace trireme::ops
