#pragma once

// Floats of 8 and fewer bits, which f32 holds exactly.

#include "onnx/proto.h"

namespace trireme::onnx {

bool is_small_float(ElementType type);

// A number is (-1)^sign * 2^(exponent - bias) * 1.fraction, or 2^(1 - bias) * 0.fraction if the
// exponent is 0.
struct SmallFloat {
  int exponent_bits, fraction_bits, bias;
  bool has_infinity, has_nan, has_negative_zero;
  float largest;
};
// Of all but f8e8m0, which has powers of two alone.
SmallFloat small_float_format(ElementType type);

// The number of a code. Precondition: is_small_float(type).
float small_float(ElementType type, unsigned code);

// What numbers become that are too large: the largest one if `saturate`, else infinity or NaN,
// whichever the type has; types without NaN always saturate. Not for f8e8m0.
float beyond_largest(ElementType type, bool saturate);

}  // namespace trireme::onnx
