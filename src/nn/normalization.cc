#include <string>

#include "nn/layer.h"
#include "trireme/nn.h"

namespace trireme::nn {
namespace {

struct Moments {
  Value mean, variance;  // biased; without the reduced axes
};

// In two passes, so that a large mean does not cancel the variance away.
Moments moments(const Value& x, const std::vector<std::int64_t>& axes,
                const std::vector<std::int64_t>& kept) {
  const Value center = mean(x, {.axes = axes});
  const Value d = x - spread(center, x, kept);
  return {center, mean(d * d, {.axes = axes})};
}

// running += momentum * (now - running), in training only.
void follow(const Value& running, const Value& now, double momentum) {
  const Value next = running * (1 - momentum) + now * momentum;
  assign(running, when_training(next, running));
}

// The mean over the axes behind the channels and over each group's channels, for every channel.
Value group_mean(const Value& x, std::int64_t groups) {
  const std::vector<std::int64_t> window = axes_but(0, x.rank());
  Value each = x.rank() == 2 ? x : mean(x, {.axes = {window.begin() + 1, window.end()}});
  const std::int64_t channels = x.dim(1).constant();
  if (channels == groups) return each;
  const Shape grouped{x.dim(0), groups, channels / groups};
  each = reshape(each, {.shape = grouped});
  each = broadcast(mean(each, {.axes = {2}}), {.shape = grouped, .axes = {0, 1}});
  return reshape(each, {.shape = {x.dim(0), channels}});
}

// Only means over the window touch the images, so that these may be stored in any layout.
Value normalise_groups(Layer& layer, const Value& x, std::int64_t groups, double epsilon,
                       bool affine) {
  const Value d = x - spread(group_mean(x, groups), x, {0, 1});
  Value y = d * spread(rsqrt(group_mean(d * d, groups) + epsilon), x, {0, 1});
  if (!affine) return y;
  const Shape channels{x.dim(1)};
  y = y * spread(layer.parameter("weight", x.dtype(), channels, ones()), x, {1});
  return y + spread(layer.parameter("bias", x.dtype(), channels, zeros()), x, {1});
}

}  // namespace

Value group_norm(const Value& x, GroupNormOptions options, SourceLocation where) {
  Layer layer(x, "group_norm", options.name, where);
  layer.require(x.rank() >= 2 && x.dim(1).is_constant(),
                "axis 1 of the input holds the channels, and their number is constant");
  layer.require(options.groups > 0 && x.dim(1).constant() % options.groups == 0,
                x.dim(1).str() + " channels cannot be divided into " +
                    std::to_string(options.groups) + " groups",
                "{.groups = 8}, which divides the number of channels");
  return normalise_groups(layer, x, options.groups, options.epsilon, options.affine);
}

Value instance_norm(const Value& x, InstanceNormOptions options, SourceLocation where) {
  Layer layer(x, "instance_norm", options.name, where);
  layer.require(x.rank() >= 3 && x.dim(1).is_constant(),
                "the input needs axes behind the channels, axis 1, whose number is constant",
                "rows of features are normalised by layer_norm");
  return normalise_groups(layer, x, x.dim(1).constant(), options.epsilon, options.affine);
}

Value batch_norm(const Value& x, BatchNormOptions options, SourceLocation where) {
  Layer layer(x, "batch_norm", options.name, where);
  layer.require(x.rank() >= 2 && x.dim(1).is_constant(),
                "axis 1 of the input holds the channels, and their number is constant");
  const std::vector<std::int64_t> axes = axes_but(1, x.rank());
  const Shape channels{x.dim(1)};
  const Value running_mean =
      layer.parameter("running_mean", x.dtype(), channels, zeros(), /*trainable=*/false);
  const Value running_var =
      layer.parameter("running_var", x.dtype(), channels, ones(), /*trainable=*/false);

  const Moments batch = moments(x, axes, {1});
  const Value center = when_training(batch.mean, running_mean);
  const Value variance = when_training(batch.variance, running_var);
  Value scale = rsqrt(variance + options.epsilon);
  if (options.affine) scale = scale * layer.parameter("weight", x.dtype(), channels, ones());
  Value y = (x - spread(center, x, {1})) * spread(scale, x, {1});
  if (options.affine) {
    y = y + spread(layer.parameter("bias", x.dtype(), channels, zeros()), x, {1});
  }

  const Value count = dim_size(x, {.axes = axes, .dtype = x.dtype()});
  const Value unbiased = batch.variance * (count / maximum(count - 1.0, 1.0));
  follow(running_mean, batch.mean, options.momentum);
  follow(running_var, unbiased, options.momentum);
  return y;
}

Value layer_norm(const Value& x, LayerNormOptions options, SourceLocation where) {
  Layer layer(x, "layer_norm", options.name, where);
  layer.require(options.axes >= 1 && options.axes <= x.rank(),
                "cannot normalise the last " + std::to_string(options.axes) + " axes");
  std::vector<std::int64_t> axes, kept;
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    const bool normalised = i >= x.rank() - options.axes;
    (normalised ? axes : kept).push_back(i);
    if (normalised) shape.push_back(x.dim(i));
  }
  layer.require(is_constant(shape), "the axes to normalise must be of constant size");
  const Moments row = moments(x, axes, kept);
  const Value d = x - spread(row.mean, x, kept);
  Value y = d * spread(rsqrt(row.variance + options.epsilon), x, kept);
  if (options.affine) {
    y = y * layer.parameter("weight", x.dtype(), shape, ones());
    y = y + layer.parameter("bias", x.dtype(), shape, zeros());
  }
  return y;
}

}  // namespace trireme::nn
