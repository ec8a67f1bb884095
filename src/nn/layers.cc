#include <cmath>
#include <string>
#include <vector>

#include "nn/windows.h"
#include "trireme/compression.h"
#include "trireme/functions.h"

namespace trireme::nn {

Value linear(const Value& x, LinearOptions options, SourceLocation where) {
  Layer layer(x, "linear", options.name, where);
  layer.require(options.units > 0, "units must be at least 1", "{.units = 10}");
  layer.require(x.rank() >= 2, "the input needs an axis of features after the batch",
                "flatten or reshape it to [batch, features]");
  layer.require(x.dim(-1).is_constant(), "the last axis of the input must have a constant size");
  const Value weight = layer.parameter("weight", x.dtype(), {x.dim(-1), options.units},
                                       weight_init(options.weight_init, options.activation), true,
                                       options.weight_settings);
  layer.torch_source(".weight",
                     {.terms = {ir::whole("weight", options.units)}, .transposed = true});
  Value y = matmul(x, weight_in_form(weight, options.weight_form, -1, where));
  if (options.bias) {
    y = y + layer.parameter("bias", x.dtype(), {options.units}, options.bias_init, true,
                            options.bias_settings);
  }
  return options.activation ? options.activation(y, where) : y;
}

Value flatten(const Value& x, SourceLocation where) {
  const LocationScope at(x, "flatten", where);
  if (x.rank() < 1) fail_layer("flatten", "a scalar has no axes", "", x);
  const Shape rest(x.shape().begin() + 1, x.shape().end());
  return reshape(x, {.shape = {x.dim(0), product(rest)}});
}

namespace {

// Returns 1 with probability 1 - rate, else 0: a number for each element of the first `axes` axes
// of x, in the shape of x. The scope's name selects the random stream, so that each dropout has its
// own.
Value kept_at_random(Layer& layer, const Value& x, double rate, int axes) {
  const Shape shape(x.shape().begin(), x.shape().begin() + axes);
  const Value mask = layer.make("random_bernoulli", {{"dtype", x.dtype()},
                                                     {"probability", 1 - rate},
                                                     {"shape", shape},
                                                     {"stream", stream_of(layer)}});
  if (axes == x.rank()) return mask;
  std::vector<std::int64_t> kept;
  for (int axis = 0; axis < axes; ++axis) kept.push_back(axis);
  return spread(mask, x, kept);
}

void check_rate(Layer& layer, double rate) {
  layer.require(rate >= 0 && rate < 1, "rate must be in [0, 1)");
}

// Drops elements that share the indices of the first `axes` axes together.
Value drop(const char* name, const Value& x, double rate, int axes, const SourceLocation& where) {
  Layer layer(x, name, "", where);
  check_rate(layer, rate);
  layer.require(x.rank() >= axes, "the input needs at least " + std::to_string(axes) + " axes");
  if (rate == 0) return x;
  return when_training(x * kept_at_random(layer, x, rate, axes) * (1 / (1 - rate)), x);
}

}  // namespace

Value dropout(const Value& x, DropoutOptions options, SourceLocation where) {
  return drop("dropout", x, options.rate, x.rank(), where);
}

Value channel_dropout(const Value& x, DropoutOptions options, SourceLocation where) {
  return drop("channel_dropout", x, options.rate, 2, where);
}

Value drop_path(const Value& x, DropoutOptions options, SourceLocation where) {
  return drop("drop_path", x, options.rate, 1, where);
}

Value alpha_dropout(const Value& x, DropoutOptions options, SourceLocation where) {
  Layer layer(x, "alpha_dropout", "", where);
  check_rate(layer, options.rate);
  if (options.rate == 0) return x;
  constexpr double kLimit = -1.7580993408473766;  // of selu(x) for x to minus infinity
  const double keep = 1 - options.rate;
  const double scale = 1 / std::sqrt(keep * (1 + kLimit * kLimit * options.rate));
  const Value mask = kept_at_random(layer, x, options.rate, x.rank());
  const Value dropped = x * mask + (1.0 - mask) * kLimit;
  return when_training(dropped * scale - scale * options.rate * kLimit, x);
}

Value prelu(const Value& x, PreluOptions options, SourceLocation where) {
  Layer layer(x, "prelu", options.name, where);
  const bool is_per_channel = options.per_channel;
  layer.require(!is_per_channel || (x.rank() >= 2 && x.dim(1).is_constant()),
                "axis 1 of the input must hold a constant number of channels",
                "for one slope for all channels, use {.per_channel = false}");
  const Value weight = layer.parameter("weight", x.dtype(), {is_per_channel ? x.dim(1) : Dim(1)},
                                       constant(options.slope), true, options.weight_settings);
  const Value slope = is_per_channel ? spread(weight, x, {1}) : weight;
  return trireme::where(x < 0.0, x * slope, x);
}

Value maxout(const Value& x, MaxoutOptions options, SourceLocation where) {
  const LocationScope at(x, "maxout", where);
  const int axis = options.axis < 0 ? options.axis + x.rank() : options.axis;
  if (axis < 0 || axis >= x.rank()) {
    fail_layer("maxout", "there is no axis " + std::to_string(options.axis), "", x);
  }
  const Dim& size = x.dim(axis);
  if (options.pieces < 1 || !size.is_constant() || size.constant() % options.pieces != 0) {
    fail_layer("maxout",
               "axis " + std::to_string(axis) + " of size " + size.str() +
                   " cannot be divided into runs of " + std::to_string(options.pieces),
               "pieces must divide the number of channels", x);
  }
  Shape shape = x.shape();
  const auto position = shape.begin() + axis;
  *position = Dim(size.constant() / options.pieces);
  shape.insert(position + 1, Dim(options.pieces));
  return reduce_max(reshape(x, {.shape = shape}), {.axes = {axis + 1}});
}

// epsilon^2 is the minimum of the squared lengths: the root of zero would have no gradient.
Value cosine_similarity(const Value& a, const Value& b, CosineOptions options,
                        SourceLocation where) {
  const LocationScope at(a, "cosine_similarity", where);
  const LocationScope at_b(b, "cosine_similarity", where);
  if (a.shape() != b.shape() || a.dtype() != b.dtype() || !is_arithmetic_float(a.dtype())) {
    fail_layer("cosine_similarity",
               "both values must have one float type: " + a.str() + ", " + b.str(),
               "cast or reshape one of them", a);
  }
  if (options.axis < -a.rank() || options.axis >= a.rank()) {
    fail_layer("cosine_similarity", "there is no axis " + std::to_string(options.axis), "", a);
  }
  // Divides before multiplying, so that large numbers do not overflow.
  const auto unit = [&](const Value& x) {
    return x / maximum(norm(x, {.axes = {options.axis}, .keep = true}), options.epsilon);
  };
  return sum(unit(a) * unit(b), {.axes = {options.axis}});
}

}  // namespace trireme::nn
