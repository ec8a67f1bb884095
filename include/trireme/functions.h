#pragma once

// Functions that compose the ops of trireme/ops.h, and so are differentiated, fused and compiled
// like them. They take values of any dtype unless said otherwise, and axes may count from the end.
// A mistake is Error(usage) naming the function, the caller's line and the value.
// What PyTorch calls where(condition, a, b) is the op select().

#include <cstdint>
#include <limits>
#include <vector>

#include "trireme/export.h"
#include "trireme/ops.h"
#include "trireme/program.h"

namespace trireme {

// --- Shapes -----------------------------------------------------------------------------------

// x with a further axis of size 1 at `axis` of the result, in [-rank - 1, rank].
TRIREME_API Value unsqueeze(const Value& x, int axis,
                            SourceLocation where = SourceLocation::current());
// x without `axes`, which must be of size 1; without all axes of size 1 if the list is empty.
TRIREME_API Value squeeze(const Value& x, const std::vector<std::int64_t>& axes = {},
                          SourceLocation where = SourceLocation::current());
// x repeated repeats[i] >= 0 times along every axis i: [2, 3] by {1, 4} gives [2, 12].
TRIREME_API Value tile(const Value& x, const std::vector<std::int64_t>& repeats,
                       SourceLocation where = SourceLocation::current());
// Values of one type, at least one, along a new axis at `axis` of the result.
TRIREME_API Value stack(const std::vector<Value>& xs, int axis = 0,
                        SourceLocation where = SourceLocation::current());
// Parts of x along `axis` of constant size; the sizes add up to it.
TRIREME_API std::vector<Value> split(const Value& x, const std::vector<std::int64_t>& sizes,
                                     int axis = 0,
                                     SourceLocation where = SourceLocation::current());
// The same with `parts` parts of one size, which must come out even.
TRIREME_API std::vector<Value> split_evenly(const Value& x, std::int64_t parts, int axis = 0,
                                            SourceLocation where = SourceLocation::current());

// --- Values -----------------------------------------------------------------------------------

// The nearest number in [low, high] to every element; NaN stays. For numbers of any dtype, low <=
// high. The gradient is that of minimum(maximum(x, low), high).
TRIREME_API Value clamp(const Value& x, double low,
                        double high = std::numeric_limits<double>::infinity(),
                        SourceLocation where = SourceLocation::current());
// Integer labels [...] as [..., depth]: 1 at the label, elsewhere 0; only zeros for a label
// outside [0, depth), depth >= 1.
TRIREME_API Value one_hot(const Value& labels, std::int64_t depth, DType dtype = DType::f32,
                          SourceLocation where = SourceLocation::current());

// --- Padding ----------------------------------------------------------------------------------
// low[i] >= 0 elements of x itself before and high[i] >= 0 behind every axis i. An axis that is
// padded must be of constant size n >= 1. Zeros or another number are put around by the op pad().

// a b c d -> c b [a b c d] c b: less than n on either side.
TRIREME_API Value pad_reflect(const Value& x, const std::vector<std::int64_t>& low,
                              const std::vector<std::int64_t>& high,
                              SourceLocation where = SourceLocation::current());
// a b c d -> a a [a b c d] d d.
TRIREME_API Value pad_edge(const Value& x, const std::vector<std::int64_t>& low,
                           const std::vector<std::int64_t>& high,
                           SourceLocation where = SourceLocation::current());
// a b c d -> c d [a b c d] a b: at most n on either side.
TRIREME_API Value pad_circular(const Value& x, const std::vector<std::int64_t>& low,
                               const std::vector<std::int64_t>& high,
                               SourceLocation where = SourceLocation::current());

// --- Images -----------------------------------------------------------------------------------
// x [batch, channels, height, width] with constant height and width, all sizes >= 1, to
// [batch, channels, new height, new width].

// Element i of a new axis is element floor(i * size / new size) of the old one.
TRIREME_API Value resize_nearest(const Value& x, std::int64_t height, std::int64_t width,
                                 SourceLocation where = SourceLocation::current());
// Between the two nearest elements of each axis by their distance, where elements are areas and
// their places the middles: (i + 0.5) * size / new size - 0.5, not beyond the first and the last.
// x is of floats.
TRIREME_API Value resize_bilinear(const Value& x, std::int64_t height, std::int64_t width,
                                  SourceLocation where = SourceLocation::current());

}  // namespace trireme
