#include <algorithm>
#include <string>

#include "base/error.h"
#include "nn/layer.h"
#include "trireme/nn.h"

namespace trireme::nn {
namespace {

Initializer weight_init(const std::optional<Initializer>& given, const Activation& activation) {
  if (given) return *given;
  return activation ? kaiming_uniform() : xavier_uniform();
}

std::vector<std::int64_t> list(const Pair& pair) { return {pair.height, pair.width}; }

// What makes the result ceil(size / stride) long.
std::int64_t same_padding(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation) {
  const std::int64_t windows = (size + stride - 1) / stride;
  const std::int64_t span = dilation * (kernel - 1) + 1;
  return std::max<std::int64_t>(0, (windows - 1) * stride + span - size);
}

std::vector<std::int64_t> padding_of(const Value& x, const Padding& padding, const Pair& kernel,
                                     const Pair& stride, const Pair& dilation) {
  if (!padding.same) return {padding.top, padding.bottom, padding.left, padding.right};
  if (stride.height < 1 || stride.width < 1) return {0, 0, 0, 0};  // the op complains of the stride
  const std::int64_t v =
      same_padding(x.dim(2).constant(), kernel.height, stride.height, dilation.height);
  const std::int64_t h =
      same_padding(x.dim(3).constant(), kernel.width, stride.width, dilation.width);
  return {v / 2, v - v / 2, h / 2, h - h / 2};
}

bool is_image(const Value& x) {
  return x.rank() == 4 && x.dim(1).is_constant() && x.dim(2).is_constant() &&
         x.dim(3).is_constant();
}

constexpr const char* kImageHint =
    "reshape it to [batch, channels, height, width]; only the batch may be a symbol";

void require_image(const Value& x, const char* what) {
  if (!is_image(x)) fail_layer(what, "the input is no batch of images", kImageHint, x);
}

}  // namespace

Padding::Padding(const char* word) : Padding(std::string(word)) {}
Padding::Padding(const std::string& word) : same(word == "same") {
  if (!same && word != "valid") {
    fail_usage("padding is \"same\", \"valid\" or numbers, not \"" + word + "\"");
  }
}

Value linear(const Value& x, LinearOptions options, SourceLocation where) {
  Layer layer(x, "linear", options.name, where);
  layer.require(options.units > 0, "units must be at least 1", "{.units = 10}");
  layer.require(x.rank() >= 2, "the input needs an axis of features behind the batch",
                "flatten or reshape it to [batch, features]");
  layer.require(x.dim(-1).is_constant(), "the last axis of the input must be a number");
  const Value weight = layer.parameter("weight", x.dtype(), {x.dim(-1), options.units},
                                       weight_init(options.weight_init, options.activation), true,
                                       options.weight_settings);
  Value y = matmul(x, weight);
  if (options.bias) {
    y = y + layer.parameter("bias", x.dtype(), {options.units}, options.bias_init, true,
                            options.bias_settings);
  }
  return options.activation ? options.activation(y, where) : y;
}

Value conv2d(const Value& x, Conv2dOptions options, SourceLocation where) {
  Layer layer(x, "conv2d", options.name, where);
  layer.require(is_image(x), "the input is no batch of images", kImageHint);
  layer.require(options.channels > 0, "channels must be at least 1", "{.channels = 32}");
  layer.require(options.kernel.height > 0 && options.kernel.width > 0, "the kernel is empty");
  const std::int64_t in = x.dim(1).constant();
  layer.require(options.groups > 0 && in % options.groups == 0,
                std::to_string(in) + " channels cannot be divided into " +
                    std::to_string(options.groups) + " groups");
  const Shape shape{options.channels, in / options.groups, options.kernel.height,
                    options.kernel.width};
  const Value weight = layer.parameter("weight", x.dtype(), shape,
                                       weight_init(options.weight_init, options.activation), true,
                                       options.weight_settings);
  Value y = trireme::conv2d(
      x, weight,
      {.stride = list(options.stride),
       .padding = padding_of(x, options.padding, options.kernel, options.stride, options.dilation),
       .dilation = list(options.dilation),
       .groups = options.groups});
  if (options.bias) {
    y = y + spread(layer.parameter("bias", x.dtype(), {options.channels}, options.bias_init, true,
                                   options.bias_settings),
                   y, {1});
  }
  return options.activation ? options.activation(y, where) : y;
}

Value max_pool(const Value& x, PoolOptions options, SourceLocation where) {
  const At at(x, "max_pool", where);
  require_image(x, "max_pool");
  const Pair stride = options.stride.value_or(options.kernel);
  return trireme::max_pool(x,
                           {.kernel = list(options.kernel),
                            .stride = list(stride),
                            .padding = padding_of(x, options.padding, options.kernel, stride, 1)})
      .front();
}

Value avg_pool(const Value& x, PoolOptions options, SourceLocation where) {
  const At at(x, "avg_pool", where);
  require_image(x, "avg_pool");
  const Pair stride = options.stride.value_or(options.kernel);
  return trireme::avg_pool(x, {.kernel = list(options.kernel),
                               .stride = list(stride),
                               .padding = padding_of(x, options.padding, options.kernel, stride, 1),
                               .count_padding = options.count_padding});
}

Value global_avg_pool(const Value& x, SourceLocation where) {
  const At at(x, "global_avg_pool", where);
  require_image(x, "global_avg_pool");
  return mean(x, {.axes = {2, 3}});
}

Value flatten(const Value& x, SourceLocation where) {
  const At at(x, "flatten", where);
  if (x.rank() < 1) fail_layer("flatten", "a scalar has no axes", "", x);
  const Shape rest(x.shape().begin() + 1, x.shape().end());
  return reshape(x, {.shape = {x.dim(0), product(rest)}});
}

Value dropout(const Value& x, DropoutOptions options, SourceLocation where) {
  // The scope's name makes the stream of random numbers: another one for each dropout.
  Layer layer(x, "dropout", "", where);
  layer.require(options.rate >= 0 && options.rate < 1, "rate must be in [0, 1)");
  if (options.rate == 0) return x;
  std::uint64_t stream = 14695981039346656037u;  // FNV-1a
  for (const char c : layer.program().layer) {
    stream = (stream ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  const double keep = 1 - options.rate;
  const Value mask =
      layer.make("random_bernoulli", {{"dtype", x.dtype()},
                                      {"probability", keep},
                                      {"shape", x.shape()},
                                      {"stream", static_cast<std::int64_t>(stream >> 1)}});
  return when_training(x * mask * (1 / keep), x);
}

}  // namespace trireme::nn
