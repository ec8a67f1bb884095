#pragma once

// Functions composed of the ops of trireme/ops.h, so they are differentiated, fused and compiled
// like ops. They take values of any dtype unless stated otherwise. Negative axes count from the
// end. Invalid arguments throw Error(usage) with the function, the caller's line and the value.

#include <cstdint>
#include <limits>
#include <vector>

#include "trireme/export.h"
#include "trireme/ops.h"
#include "trireme/program.h"

namespace trireme {

// --- Shapes -----------------------------------------------------------------------------------

// Returns x with a new axis of size 1 at `axis` of the result, in [-rank - 1, rank].
TRIREME_API Value unsqueeze(const Value& x, int axis,
                            SourceLocation where = SourceLocation::current());
// Returns x without `axes`, which must have size 1. An empty list removes all axes of size 1.
TRIREME_API Value squeeze(const Value& x, const std::vector<std::int64_t>& axes = {},
                          SourceLocation where = SourceLocation::current());
// Returns x repeated repeats[i] >= 0 times along axis i: [2, 3] with {1, 4} becomes [2, 12].
TRIREME_API Value tile(const Value& x, const std::vector<std::int64_t>& repeats,
                       SourceLocation where = SourceLocation::current());
// Stacks values of one type, at least one, along a new axis at `axis` of the result.
TRIREME_API Value stack(const std::vector<Value>& xs, int axis = 0,
                        SourceLocation where = SourceLocation::current());
// Splits x along `axis` into parts of constant sizes that add up to the size of the axis.
TRIREME_API std::vector<Value> split(const Value& x, const std::vector<std::int64_t>& sizes,
                                     int axis = 0,
                                     SourceLocation where = SourceLocation::current());
// The same with `parts` equal parts. The size must be divisible by `parts`.
TRIREME_API std::vector<Value> split_evenly(const Value& x, std::int64_t parts, int axis = 0,
                                            SourceLocation where = SourceLocation::current());

// --- Values -----------------------------------------------------------------------------------

// Clamps every element to [low, high]; NaN stays NaN. x has any numeric dtype; low <= high. The
// gradient is that of minimum(maximum(x, low), high).
TRIREME_API Value clamp(const Value& x, double low,
                        double high = std::numeric_limits<double>::infinity(),
                        SourceLocation where = SourceLocation::current());
struct NormOptions {
  std::vector<std::int64_t> axes = {};  // empty: all
  bool keep = false;                    // keep these axes with size 1
};
// The Euclidean norm sqrt(sum(x^2)) along axes. Its gradient is x / norm, or 0 where the norm is
// 0. x is f32, whose squares are added in f64 and do not overflow, or f64.
TRIREME_API Value norm(const Value& x, const NormOptions& options = {},
                       SourceLocation where = SourceLocation::current());
// Converts integer labels [...] to [..., depth]: 1 at the label, 0 elsewhere. A label outside [0,
// depth) gives only zeros. depth >= 1.
TRIREME_API Value one_hot(const Value& labels, std::int64_t depth, DType dtype = DType::f32,
                          SourceLocation where = SourceLocation::current());

// --- Padding ----------------------------------------------------------------------------------
// Adds low[i] >= 0 elements before and high[i] >= 0 elements after every axis i, copied from x. An
// axis that is padded must have a constant size n >= 1. To pad with zeros or another number, use
// the op pad().

// a b c d -> c b [a b c d] c b: fewer than n on either side.
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
// Resizes x [batch, channels, height, width] to [batch, channels, new height, new width]. Height
// and width are constant; all sizes >= 1.

// Element i of a new axis is element floor(i * size / new size) of the old axis.
TRIREME_API Value resize_nearest(const Value& x, std::int64_t height, std::int64_t width,
                                 SourceLocation where = SourceLocation::current());
// Linear interpolation between the two nearest elements of each axis. Element i of a new axis is at
// (i + 0.5) * size / new size - 0.5, limited to the first and last element (pixels are areas,
// positions are their centers). x has a floating-point dtype.
TRIREME_API Value resize_bilinear(const Value& x, std::int64_t height, std::int64_t width,
                                  SourceLocation where = SourceLocation::current());

}  // namespace trireme
