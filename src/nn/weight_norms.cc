// Weights that are computed from other weights, so that their lengths are controlled.

#include <string>

#include "nn/axes.h"
#include "nn/layer.h"
#include "trireme/functions.h"
#include "trireme/nn.h"

namespace trireme::nn {
namespace {

// Returns the axis of the units in [0, rank).
int unit_axis(Layer& layer, const char* what, const Value& weight, int axis) {
  layer.require(is_arithmetic_float(weight.dtype()), "the weight must be f32 or f64");
  layer.require(weight.rank() >= 2 && is_constant(weight.shape()),
                "the weight must have rank 2 or more, and constant sizes",
                "program.parameter(\"weight\", f32, {8, 4}) is such a weight");
  return static_cast<int>(axis_in(what, weight, axis));
}

Value unit_vector(const Value& row, double epsilon) {
  return row / spread(maximum(norm(row), epsilon), row, {});
}

}  // namespace

Value weight_norm(const Value& v, WeightNormOptions options, SourceLocation where) {
  Layer layer(v, "weight_norm", options.name, where);
  const int axis = unit_axis(layer, "weight_norm", v, options.axis);
  const Value length =
      layer.parameter("length", v.dtype(), {v.dim(axis)}, options.init, true, options.settings);
  const Value size = norm(v, {.axes = axes_but(axis, v.rank())});
  const Value is_zero = equal(size, 0.0);
  const Value scale = trireme::where(is_zero, 0.0, length / trireme::where(is_zero, 1.0, size));
  return v * spread(scale, v, {axis});
}

Value spectral_norm(const Value& weight, SpectralNormOptions options, SourceLocation where) {
  Layer layer(weight, "spectral_norm", options.name, where);
  const int axis = unit_axis(layer, "spectral_norm", weight, options.axis);
  layer.require(options.iterations >= 1 && options.iterations <= 1000,
                "iterations must be from 1 to 1000");
  layer.require(options.epsilon > 0, "epsilon must be above 0");
  const Dim units = weight.dim(axis);
  std::vector<std::int64_t> order = axes_but(axis, weight.rank());
  order.insert(order.begin(), axis);
  Dim rest = 1;
  for (std::size_t i = 1; i < order.size(); ++i) {
    rest = rest * weight.dim(static_cast<int>(order[i]));
  }
  const Value moved = transpose(weight, {.permutation = order});
  const Value matrix = reshape(moved, {.shape = {units, rest}});
  const Value fixed = stop_gradient(matrix);
  const Value u = layer.parameter("u", weight.dtype(), {units}, normal(), /*trainable=*/false);
  // Rows [1, units] and [1, rest].
  const Value first =
      unit_vector(reshape(stop_gradient(u), {.shape = {1, units}}), options.epsilon);
  const auto right_of = [&](const Value& left) {
    return unit_vector(matmul(left, fixed), options.epsilon);
  };
  Value left = first, right;
  for (std::int64_t i = 0; i < options.iterations; ++i) {
    right = right_of(left);
    left = unit_vector(matmul(right, fixed, {.transpose_b = true}), options.epsilon);
  }
  left = when_training(left, first);
  right = when_training(right, right_of(first));
  assign(u, when_training(reshape(left, {.shape = {units}}), u));
  const Value largest = sum(left * matmul(right, matrix, {.transpose_b = true}));
  return weight / spread(maximum(largest, options.epsilon), weight, {});
}

}  // namespace trireme::nn
