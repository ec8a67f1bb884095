// Cast, CastLike and BitCast.

#include "onnx/ops/types.h"

#include <cmath>
#include <limits>

#include "onnx/importer.h"
#include "onnx/ops/operators.h"
#include "onnx/ops/sizes.h"
#include "onnx/small_float.h"
#include "onnx/tensor.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

// The largest power of two that is not above x, for positive normal x.
Value power_below(const Value& x) {
  const Value exponent = full_like(bitcast(x, {.dtype = i32}), 0x7f800000);
  return bitcast(bitwise_and(bitcast(x, {.dtype = i32}), exponent), {.dtype = f32});
}

Value round_to_power(const Value& x, const CastMode& mode) {
  const double lowest = std::ldexp(1.0, -126);  // subnormal f32 count as the smallest normal
  const Value size = maximum(abs(x), lowest);
  const Value below = power_below(size);
  const Value above = below * 2.0;
  Value result = below;
  if (mode.rounding == "up") result = where(less(below, size), above, below);
  if (mode.rounding == "nearest") result = where(size >= below * 1.5, above, below);
  const double largest = std::ldexp(1.0, 127);
  const double beyond = mode.saturate ? largest : std::numeric_limits<double>::quiet_NaN();
  result = where(equal(result, std::numeric_limits<double>::infinity()), beyond, result);
  return where(is_nan(x), x, result);
}

// Neighbours of x differ by a power of two, so x divided by it is rounded to an integer.
Value round_to_small(const Value& x, ElementType type, const CastMode& mode) {
  if (type == ElementType::f8e8m0) return round_to_power(x, mode);
  const SmallFloat format = small_float_format(type);
  const double normal = std::ldexp(1.0, 1 - format.bias);
  const Value step = power_below(maximum(abs(x), normal)) * std::ldexp(1.0, -format.fraction_bits);
  Value result = round(x / step) * step;
  const auto largest = static_cast<double>(format.largest);
  const auto beyond = static_cast<double>(beyond_largest(type, mode.saturate));
  const Value limit = where(less(x, 0.0), -full_like(x, beyond), full_like(x, beyond));
  result = where(abs(result) <= largest, result, limit);
  if (!format.has_negative_zero) result = where(equal(result, 0.0), 0.0, result);
  const double nan = format.has_nan ? std::numeric_limits<double>::quiet_NaN() : 0;
  return where(is_nan(x), nan, result);
}

bool is_small_integer(ElementType type) {
  return type == ElementType::i4 || type == ElementType::u4 || type == ElementType::i2 ||
         type == ElementType::u2;
}

// All numbers wrap, as in the reference of ONNX.
Value cast_to_small_integer(const Value& x, ElementType type) {
  const auto [low, high] = integer_range(type);
  const Value whole = cast(is_half(x.dtype()) ? cast(x, {.dtype = f32}) : x, {.dtype = i64});
  return cast(floor_mod(whole - low, high - low + 1) + low, {.dtype = *carrier_of(type)});
}

void import_cast(NodeContext& n) {
  const auto to = static_cast<ElementType>(n.integer("to"));
  const CastMode mode = {n.integer("saturate", 1) != 0, n.text("round_mode", "up")};
  n.set(0, cast_to(n.value(0), n.type(0), to, mode), to);
}

void import_cast_like(NodeContext& n) {
  const CastMode mode = {n.integer("saturate", 1) != 0, n.text("round_mode", "up")};
  n.set(0, cast_to(n.value(0), n.type(0), n.type(1), mode), n.type(1));
}

void import_bit_cast(NodeContext& n) {
  const auto to = static_cast<ElementType>(n.integer("to"));
  const std::optional<DType> dtype = carrier_of(to);
  n.require(dtype && element_type_of(*dtype) == to &&
                element_type_of(*carrier_of(n.type(0))) == n.type(0),
            "it goes from " + name_of(n.type(0)) + " to " + name_of(to));
  const Value x = n.value(0);
  if (x.dtype() == boolean || *dtype == boolean) return n.set(0, cast(x, {.dtype = *dtype}), to);
  n.set(0, bitcast(x, {.dtype = *dtype}), to);
}

constexpr Operator kTypesOperators[] = {
    {"", "BitCast", import_bit_cast, {.widens = false}},
    {"", "Cast", import_cast, {.widens = false, .on_sizes = cast_sizes}},
    {"", "CastLike", import_cast_like, {.widens = false}},
};

}  // namespace

Value cast_to(const Value& x, ElementType from, ElementType to, const CastMode& mode) {
  const std::optional<DType> carrier = carrier_of(to);
  if (!carrier) throw Unsupported{"it casts to " + name_of(to)};
  if (from == to) return x;
  if (is_small_float(to)) return round_to_small(cast(x, {.dtype = f32}), to, mode);
  if (is_small_integer(to)) return cast_to_small_integer(x, to);
  return cast(x, {.dtype = *carrier});
}

Operators type_operators() { return kTypesOperators; }

}  // namespace trireme::onnx
