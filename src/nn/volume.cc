// Layers of volumes, [batch, channels, depth, height, width].

#include <algorithm>
#include <functional>
#include <string>

#include "nn/windows.h"
#include "trireme/convolution.h"

namespace trireme::nn {
namespace {

constexpr const char* kVolumeHint =
    "reshape it to [batch, channels, depth, height, width]; only the batch may be a symbol";

bool is_volume(const Value& x) {
  return x.rank() == 5 && std::all_of(x.shape().begin() + 1, x.shape().end(),
                                      [](const Dim& size) { return size.is_constant(); });
}

std::vector<std::int64_t> list(const Triple& triple) {
  return {triple.depth, triple.height, triple.width};
}

std::vector<std::int64_t> padding_of(const Value& x, const Padding3d& padding, const Triple& kernel,
                                     const Triple& stride, const Triple& dilation) {
  const auto size = list(kernel), steps = list(stride), gaps = list(dilation);
  const auto sides = list(padding.sides);
  std::vector<std::int64_t> both;
  for (std::size_t i = 0; i < 3; ++i) {
    const bool same = padding.same && steps[i] > 0;  // the op complains of the stride
    const std::int64_t total =
        same ? same_padding(x.dim(static_cast<int>(2 + i)).constant(), size[i], steps[i], gaps[i])
             : 2 * sides[i];
    both.insert(both.end(), {total / 2, total - total / 2});
  }
  return both;
}

// Height and width first, then the depth: windows are independent along their axes.
Value pooled(const Value& x, const Pool3dOptions& options, const char* what,
             const std::function<Value(const Value&, const PoolOptions&)>& pool) {
  if (!is_volume(x)) fail_layer(what, "the input is no batch of volumes", kVolumeHint, x);
  const Triple stride = options.stride.value_or(options.kernel);
  const auto sides = padding_of(x, options.padding, options.kernel, stride, 1);
  const Value images = reshape(x, {.shape = {x.dim(0), x.dim(1) * x.dim(2), x.dim(3), x.dim(4)}});
  const Value flat = pool(images, {.kernel = {options.kernel.height, options.kernel.width},
                                   .stride = Pair(stride.height, stride.width),
                                   .padding = {sides[2], sides[3], sides[4], sides[5]}});
  const Dim &height = flat.dim(2), &width = flat.dim(3);
  const Value deep = reshape(flat, {.shape = {x.dim(0), x.dim(1), x.dim(2), height * width}});
  const Value y = pool(deep, {.kernel = {options.kernel.depth, 1},
                              .stride = Pair(stride.depth, 1),
                              .padding = {sides[0], sides[1], 0, 0}});
  return reshape(y, {.shape = {x.dim(0), x.dim(1), y.dim(2), height, width}});
}

}  // namespace

Padding3d::Padding3d(const char* word) : same(Padding(word).same) {}
Padding3d::Padding3d(const std::string& word) : same(Padding(word).same) {}

Value conv3d(const Value& x, Conv3dOptions options, SourceLocation where) {
  Layer layer(x, "conv3d", options.name, where);
  layer.require(is_volume(x), "the input is no batch of volumes", kVolumeHint);
  layer.require(options.channels > 0, "channels must be at least 1", "{.channels = 32}");
  const auto kernel = list(options.kernel);
  layer.require(*std::min_element(kernel.begin(), kernel.end()) > 0, "the kernel is empty");
  const std::int64_t in = x.dim(1).constant();
  layer.require(options.groups > 0 && in % options.groups == 0,
                std::to_string(in) + " channels cannot be divided into " +
                    std::to_string(options.groups) + " groups");
  Shape shape{options.channels, in / options.groups};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  const Value weight = layer.parameter("weight", x.dtype(), shape,
                                       weight_init(options.weight_init, options.activation), true,
                                       options.weight_settings);
  Value y = trireme::conv3d(
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

Value max_pool3d(const Value& x, Pool3dOptions options, SourceLocation where) {
  const At at(x, "max_pool3d", where);
  return pooled(x, options, "max_pool3d", [&](const Value& images, const PoolOptions& window) {
    return max_pool(images, window, where);
  });
}

Value avg_pool3d(const Value& x, Pool3dOptions options, SourceLocation where) {
  const At at(x, "avg_pool3d", where);
  return pooled(x, options, "avg_pool3d", [&](const Value& images, PoolOptions window) {
    window.count_padding = options.count_padding;
    return avg_pool(images, window, where);
  });
}

}  // namespace trireme::nn
