// Values of one, two or a few bits, with straight-through gradients.

#include <string>

#include "nn/axes.h"
#include "nn/layer.h"
#include "trireme/compression.h"
#include "trireme/shorthand.h"

namespace trireme::nn {
namespace {

// Returns the numbers `values`; their gradient goes to x where `passes`. The difference is exactly
// 0, which adding the gradient's path and subtracting x would not be for large x.
Value straight_through(const Value& values, const Value& x, const Value& passes) {
  const Value path = trireme::where(passes, x, 0.0);
  return stop_gradient(values) + (path - stop_gradient(path));
}

Value signs(const Value& x) {
  return trireme::where(x >= 0.0, 1.0, trireme::where(x < 0.0, full_like(x, -1), x));
}

Value binary(const Value& x) { return straight_through(signs(x), x, abs(x) <= 1.0); }

// A weight of f32 or f64 and the axes that one scale covers.
struct Weight {
  Value value;
  std::vector<std::int64_t> shared;  // axes of elements with one scale
  std::vector<std::int64_t> own;     // the axis of the units; empty: one scale for all

  Weight(const char* what, const Value& weight, const std::optional<int>& axis) : value(weight) {
    if (!is_arithmetic_float(weight.dtype()) || weight.rank() < 1 || !is_constant(weight.shape())) {
      fail_layer(what, "the weight must be f32 or f64, with constant sizes and an axis",
                 "program.parameter(\"weight\", f32, {8, 4}) is such a weight", weight);
    }
    const int units = axis ? static_cast<int>(axis_in(what, weight, *axis)) : -1;
    shared = axes_but(units, weight.rank());
    if (axis) own = {units};
  }
  Value spread_out(const Value& scale) const { return spread(scale, value, own); }
};

// |x| rounded to the nearest power of two in linear distance; the middle rounds up. Half of a
// mantissa is added to the bits, and the mantissa is cleared. Less than the smallest normal number
// is 0.
Value nearest_power(const Value& x) {
  const bool is_double = x.dtype() == f64;
  const double mantissa = is_double ? 52 : 23;
  const double half = is_double ? 0x1p51 : 0x1p22;
  const Value bits = bitcast(abs(x), {.dtype = is_double ? i64 : i32}) + half;
  return bitcast(shift_left(shift_right(bits, mantissa), mantissa), {.dtype = x.dtype()});
}

}  // namespace

Value binarize(const Value& x, SourceLocation where) {
  const LocationScope at(x, "binarize", where);
  if (!is_arithmetic_float(x.dtype())) {
    fail_layer("binarize", "the operand must be f32 or f64, not " + x.str(), "cast it", x);
  }
  return binary(x);
}

Value binary_weight(const Value& weight, WeightScaleOptions options, SourceLocation where) {
  const LocationScope at(weight, "binary_weight", where);
  const Weight w("binary_weight", weight, options.axis);
  return binary(weight) * w.spread_out(mean(abs(weight), {.axes = w.shared}));
}

Value ternary_weight(const Value& weight, WeightScaleOptions options, SourceLocation where) {
  const LocationScope at(weight, "ternary_weight", where);
  const Weight w("ternary_weight", weight, options.axis);
  const Value size = abs(weight);
  const Value limit = mean(size, {.axes = w.shared}) * 0.7;
  const Value kept = cast(size > w.spread_out(limit), {.dtype = weight.dtype()});
  const Value count = maximum(sum(kept, {.axes = w.shared}), 1.0);
  const Value scale = sum(size * kept, {.axes = w.shared}) / count;
  return straight_through(sign(weight) * kept * w.spread_out(scale), weight, is_finite(weight));
}

Value power_of_two_weight(const Value& weight, PowerOfTwoOptions options, SourceLocation where) {
  const LocationScope at(weight, "power_of_two_weight", where);
  if (options.bits < 2 || options.bits > 6) {
    fail_layer("power_of_two_weight", "bits must be from 2 to 6", "{.bits = 4}", weight);
  }
  const Weight w("power_of_two_weight", weight, options.axis);
  const int exponents = (1 << (options.bits - 1)) - 1;
  const Value size = abs(weight);
  const Value largest = nearest_power(reduce_max(size, {.axes = w.shared}));
  double ratio = 1;
  for (int i = 1; i < exponents; ++i) ratio /= 2;
  const Value smallest = w.spread_out(largest * ratio);
  const Value rounded = maximum(nearest_power(weight), smallest);
  const Value values = trireme::where(size * 2.0 < smallest, 0.0, sign(weight) * rounded);
  return straight_through(values, weight, is_finite(weight));
}

Value weight_in_form(const Value& weight, WeightForm form, int axis, SourceLocation where) {
  const auto powers = [&](int bits) {
    return power_of_two_weight(weight, {.bits = bits, .axis = axis}, where);
  };
  switch (form) {
    case WeightForm::full: break;
    case WeightForm::binary: return binary_weight(weight, {.axis = axis}, where);
    case WeightForm::ternary: return ternary_weight(weight, {.axis = axis}, where);
    case WeightForm::log3: return powers(3);
    case WeightForm::log4: return powers(4);
    case WeightForm::log5: return powers(5);
  }
  return weight;
}

}  // namespace trireme::nn
