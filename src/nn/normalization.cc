#include <functional>
#include <string>

#include "nn/layer.h"
#include "nn/updates.h"
#include "trireme/nn.h"

namespace trireme::nn {
namespace {

// Without the reduced axes. The mean is shift + rest, and the variance is biased.
struct Moments {
  Value shift, rest, variance;
};

// In f32 a large mean would cancel the variance, and its rounding error would move the result. So
// all numbers are shifted by a first mean, which is a constant for the gradient, and the small mean
// of the shifted numbers corrects its error: Chan, Golub and LeVeque, "Algorithms for computing the
// sample variance", 1983. `shifted` is x - shift.
Moments moments(const Value& shift, const Value& shifted, const std::function<Value(Value)>& mean) {
  const Value rest = mean(shifted);
  return {shift, rest, maximum(mean(shifted * shifted) - rest * rest, 0.0)};
}

Moments moments(const Value& x, const std::vector<std::int64_t>& axes,
                const std::vector<std::int64_t>& kept) {
  const Value shift = stop_gradient(mean(x, {.axes = axes}));
  return moments(shift, x - spread(shift, x, kept),
                 [&](const Value& v) { return mean(v, {.axes = axes}); });
}

// d * scale + offset. The backward pass needs d alone of the large values.
Value scaled(const Value& d, const Value& scale, const Value& offset,
             const std::vector<std::int64_t>& kept) {
  return d * spread(scale, d, kept) + spread(offset, d, kept);
}

// Updates running += momentum * (now - running), in training only. A batch of no elements has no
// statistics and changes nothing.
void update_running(const Value& running, const Value& now, const Value& count, double momentum) {
  const Value next = running * (1 - momentum) + now * momentum;
  assign(running, when_training(trireme::where(count > 0.0, next, running), running));
}

// Returns, for every channel, the mean over the axes after the channels and over the channels of
// its group.
Value group_mean(const Value& x, std::int64_t groups) {
  const std::vector<std::int64_t> window = axes_but(0, x.rank());
  Value channel_means = x.rank() == 2 ? x : mean(x, {.axes = {window.begin() + 1, window.end()}});
  const std::int64_t channels = x.dim(1).constant();
  if (channels == groups) return channel_means;
  const Shape grouped{x.dim(0), groups, channels / groups};
  channel_means = reshape(channel_means, {.shape = grouped});
  channel_means = broadcast(mean(channel_means, {.axes = {2}}), {.shape = grouped, .axes = {0, 1}});
  return reshape(channel_means, {.shape = {x.dim(0), channels}});
}

// Only means over the window read the images, so images may have any layout.
Value normalize_groups(Layer& layer, const Value& x, std::int64_t groups, double epsilon,
                       bool affine) {
  const Value shift = stop_gradient(group_mean(x, groups));
  const Value d = x - spread(shift, x, {0, 1});
  const Moments group = moments(shift, d, [&](const Value& v) { return group_mean(v, groups); });
  const Value scale = rsqrt(group.variance + epsilon);
  Value y = scaled(d, scale, -group.rest * scale, {0, 1});
  if (!affine) return y;
  const Shape channels{x.dim(1)};
  y = y * spread(layer.parameter("weight", x.dtype(), channels, ones()), x, {1});
  return y + spread(layer.parameter("bias", x.dtype(), channels, zeros()), x, {1});
}

}  // namespace

Value group_norm(const Value& x, GroupNormOptions options, SourceLocation where) {
  Layer layer(x, "group_norm", options.name, where);
  layer.require(x.rank() >= 2 && x.dim(1).is_constant(),
                "axis 1 of the input must hold a constant number of channels");
  layer.require(options.groups > 0 && x.dim(1).constant() % options.groups == 0,
                x.dim(1).str() + " channels cannot be divided into " +
                    std::to_string(options.groups) + " groups",
                "set .groups to a divisor of the number of channels: {.groups = 8}");
  return normalize_groups(layer, x, options.groups, options.epsilon, options.affine);
}

Value instance_norm(const Value& x, InstanceNormOptions options, SourceLocation where) {
  Layer layer(x, "instance_norm", options.name, where);
  layer.require(x.rank() >= 3 && x.dim(1).is_constant(),
                "the input needs axes after axis 1, which must hold a constant number of channels",
                "for rows of features, use layer_norm");
  return normalize_groups(layer, x, x.dim(1).constant(), options.epsilon, options.affine);
}

Value batch_norm(const Value& x, BatchNormOptions options, SourceLocation where) {
  Layer layer(x, "batch_norm", options.name, where);
  layer.require(x.rank() >= 2 && x.dim(1).is_constant(),
                "axis 1 of the input must hold a constant number of channels");
  const std::vector<std::int64_t> axes = axes_but(1, x.rank());
  const Shape channels{x.dim(1)};
  const Value running_mean =
      layer.parameter("running_mean", x.dtype(), channels, zeros(), /*trainable=*/false);
  const Value running_var =
      layer.parameter("running_var", x.dtype(), channels, ones(), /*trainable=*/false);
  layer.torch_ignores("num_batches_tracked");

  const Moments batch = moments(x, axes, {1});
  const Value shift = when_training(batch.shift, running_mean);
  const Value rest = when_training(batch.rest, zero_like(batch.rest));
  const Value variance = when_training(batch.variance, running_var);
  Value scale = rsqrt(variance + options.epsilon);
  if (options.affine) scale = scale * layer.parameter("weight", x.dtype(), channels, ones());
  Value offset = -rest * scale;
  if (options.affine) offset = layer.parameter("bias", x.dtype(), channels, zeros()) + offset;
  const Value y = scaled(x - spread(shift, x, {1}), scale, offset, {1});

  const Value count = dim_size(x, {.axes = axes, .dtype = x.dtype()});
  const Value unbiased = batch.variance * (count / maximum(count - 1.0, 1.0));
  update_running(running_mean, batch.shift + batch.rest, count, options.momentum);
  update_running(running_var, unbiased, count, options.momentum);
  return y;
}

Value layer_norm(const Value& x, LayerNormOptions options, SourceLocation where) {
  Layer layer(x, "layer_norm", options.name, where);
  layer.require(options.axes >= 1 && options.axes <= x.rank(),
                "cannot normalize the last " + std::to_string(options.axes) + " axes");
  std::vector<std::int64_t> axes, kept;
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    const bool is_normalized = i >= x.rank() - options.axes;
    (is_normalized ? axes : kept).push_back(i);
    if (is_normalized) shape.push_back(x.dim(i));
  }
  layer.require(is_constant(shape), "the axes to normalize must have a constant size");
  const Moments row = moments(x, axes, kept);
  const Value scale = rsqrt(row.variance + options.epsilon);
  Value y = scaled(x - spread(row.shift, x, kept), scale, -row.rest * scale, kept);
  if (options.affine) {
    y = y * layer.parameter("weight", x.dtype(), shape, ones());
    y = y + layer.parameter("bias", x.dtype(), shape, zeros());
  }
  return y;
}

Value rms_norm(const Value& x, RmsNormOptions options, SourceLocation where) {
  Layer layer(x, "rms_norm", options.name, where);
  layer.require(is_arithmetic_float(x.dtype()), "the input must be f32 or f64");
  layer.require(options.axes >= 1 && options.axes <= x.rank(),
                "cannot normalize the last " + std::to_string(options.axes) + " axes");
  std::vector<std::int64_t> axes, kept;
  for (int i = 0; i < x.rank(); ++i) (i >= x.rank() - options.axes ? axes : kept).push_back(i);
  const Shape shape(x.shape().end() - options.axes, x.shape().end());
  layer.require(is_constant(shape), "the axes to normalize must have a constant size");
  const Value scale = rsqrt(mean(x * x, {.axes = axes}) + options.epsilon);
  const Value y = x * spread(scale, x, kept);
  return options.affine ? y * layer.parameter("weight", x.dtype(), shape, ones()) : y;
}

// The windows of channels are those of a pooling along the height of images [1, channels, rest].
Value local_response_norm(const Value& x, LocalResponseNormOptions options, SourceLocation where) {
  const LocationScope at(x, "local_response_norm", where);
  const auto require = [&](bool holds, const char* message) {
    if (!holds) fail_layer("local_response_norm", message, "", x);
  };
  require(is_arithmetic_float(x.dtype()), "the input must be f32 or f64");
  require(x.rank() >= 2 && is_constant(Shape(x.shape().begin() + 1, x.shape().end())),
          "the input must have rank 2 or more, and constant sizes except the batch");
  require(options.size >= 1, "the size must be at least 1");
  require(options.k > 0, "k must be above 0");
  Dim rest = 1;
  for (int i = 2; i < x.rank(); ++i) rest = rest * x.dim(i);
  const Value squares = reshape(x * x, {.shape = {x.dim(0), 1, x.dim(1), rest}});
  const Value means =
      trireme::avg_pool(squares, {.kernel = {options.size, 1},
                                  .stride = {1, 1},
                                  .padding = {options.size / 2, (options.size - 1) / 2, 0, 0}});
  const Value total = reshape(means, {.shape = x.shape()}) * options.alpha + options.k;
  return x / pow(total, options.beta);
}

}  // namespace trireme::nn
