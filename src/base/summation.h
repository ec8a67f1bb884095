#pragma once

// How sums of f32 numbers keep their digits, in generated kernels and in those of kernels/.

#include <cstdint>

namespace trireme {

// A sum of f32 numbers is the f64 sum of partial sums in f32. One partial sum has at most this many
// additions. Then the error of a sum of positive numbers is below 1e-6 of the sum: a partial sum of
// n additions has an error below n * 2^-26 * 4/3 of it, and the result is rounded once.
inline constexpr std::int64_t kMaxAdditions = 32;

}  // namespace trireme
