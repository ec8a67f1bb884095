// Floats of 8 and fewer bits: those of the Open Compute Project (E4M3FN, E5M2, E2M1, E3M2, E2M3,
// E8M0) and the FNUZ forms (https://arxiv.org/abs/2206.02915), which have neither a negative zero
// nor infinities.

#include "onnx/small_float.h"

#include <cmath>
#include <limits>

namespace trireme::onnx {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();

}  // namespace

bool is_small_float(ElementType type) {
  return (type >= ElementType::f8e4m3fn && type <= ElementType::f8e5m2fnuz) ||
         type == ElementType::f4e2m1 || type == ElementType::f8e8m0 ||
         type == ElementType::f6e2m3 || type == ElementType::f6e3m2;
}

SmallFloat small_float_format(ElementType type) {
  switch (type) {
    case ElementType::f8e4m3fn: return {4, 3, 7, false, true, true, 448};
    case ElementType::f8e4m3fnuz: return {4, 3, 8, false, true, false, 240};
    case ElementType::f8e5m2: return {5, 2, 15, true, true, true, 57344};
    case ElementType::f8e5m2fnuz: return {5, 2, 16, false, true, false, 57344};
    case ElementType::f6e3m2: return {3, 2, 3, false, false, true, 28};
    case ElementType::f6e2m3: return {2, 3, 1, false, false, true, 7.5F};
    default: return {2, 1, 1, false, false, true, 6};  // f4e2m1
  }
}

float small_float(ElementType type, unsigned code) {
  if (type == ElementType::f8e8m0) {
    return code == 255 ? kNaN : std::ldexp(1.0F, static_cast<int>(code) - 127);
  }
  const SmallFloat format = small_float_format(type);
  const unsigned magnitude = code & ((1U << (format.exponent_bits + format.fraction_bits)) - 1);
  const bool negative = code >> (format.exponent_bits + format.fraction_bits) & 1;
  if (!format.has_negative_zero && negative && magnitude == 0) return kNaN;
  const unsigned fraction = magnitude & ((1U << format.fraction_bits) - 1);
  const int exponent = static_cast<int>(magnitude >> format.fraction_bits);
  const float steps = std::ldexp(static_cast<float>(fraction), -format.fraction_bits);
  float value = exponent == 0 ? std::ldexp(steps, 1 - format.bias)
                              : std::ldexp(1 + steps, exponent - format.bias);
  if (value > format.largest) value = format.has_infinity && fraction == 0 ? kFloatInfinity : kNaN;
  return negative ? -value : value;
}

float beyond_largest(ElementType type, bool saturate) {
  const SmallFloat format = small_float_format(type);
  if (saturate || !format.has_nan) return format.largest;
  return format.has_infinity ? kFloatInfinity : kNaN;
}

}  // namespace trireme::onnx
