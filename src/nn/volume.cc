// Layers on volumes, [batch, channels, depth, height, width].

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

// Depth, height and width of volumes.
std::vector<std::int64_t> size_of_volume(const Value& x) {
  return {x.dim(2).constant(), x.dim(3).constant(), x.dim(4).constant()};
}

// Front, back, top, bottom, left, right in numbers, for volumes of these sizes.
std::vector<std::int64_t> padding_of(const std::vector<std::int64_t>& sizes,
                                     const Padding3d& padding, const Triple& kernel,
                                     const Triple& stride, const Triple& dilation) {
  const auto size = list(kernel), steps = list(stride), gaps = list(dilation);
  const auto sides = list(padding.sides);
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < 3; ++i) {
    const bool same = padding.same && steps[i] > 0;  // the op reports the wrong stride
    const std::int64_t total =
        same ? same_padding(sizes[i], size[i], steps[i], gaps[i]) : 2 * sides[i];
    result.insert(result.end(), {total / 2, total - total / 2});
  }
  return result;
}

// The window that one pooling op slides along two axes of images with channels last.
struct Window {
  std::vector<std::int64_t> kernel, stride, padding;
};

// Pools height and width first and then the depth, because windows are independent along their
// axes. Channels are last, as for convolutions, so that the reshapes move no data.
Value pooled(const Value& x, const Triple& kernel, const Triple& stride,
             const std::vector<std::int64_t>& sides,
             const std::function<Value(const Value& images, const Window&)>& pool) {
  const Dim &n = x.dim(0), &c = x.dim(1), &d = x.dim(2), &h = x.dim(3), &w = x.dim(4);
  const Value last = transpose(x, {.permutation = {0, 2, 3, 4, 1}});
  const Value flat =
      pool(reshape(last, {.shape = {n * d, h, w, c}}), {{kernel.height, kernel.width},
                                                        {stride.height, stride.width},
                                                        {sides[2], sides[3], sides[4], sides[5]}});
  const Dim &p = flat.dim(1), &q = flat.dim(2);
  const Value deep = pool(reshape(flat, {.shape = {n, d, p * q, c}}),
                          {{kernel.depth, 1}, {stride.depth, 1}, {sides[0], sides[1], 0, 0}});
  const Value y = reshape(deep, {.shape = {n, deep.dim(1), p, q, c}});
  return transpose(y, {.permutation = {0, 4, 1, 2, 3}});
}

}  // namespace

void require_volume(const Value& x, const char* what) {
  if (!is_volume(x)) fail_layer(what, "the input is not a batch of volumes", kVolumeHint, x);
}

std::vector<std::int64_t> pool_padding(const Value& x, const Pool3dOptions& options,
                                       const Triple& stride) {
  std::vector<std::int64_t> sides =
      padding_of(size_of_volume(x), options.padding, options.kernel, stride, 1);
  if (!options.ceil_mode || options.padding.same) return sides;
  const auto sizes = list(options.kernel), steps = list(stride);
  for (std::size_t i = 0; i < 3; ++i) {
    sides[2 * i + 1] = padding_for_ceil(x.dim(static_cast<int>(2 + i)).constant(), sizes[i],
                                        steps[i], sides[2 * i], sides[2 * i + 1]);
  }
  return sides;
}

Padding3d::Padding3d(const char* word) : same(Padding(word).same) {}
Padding3d::Padding3d(const std::string& word) : same(Padding(word).same) {}

Value conv3d(const Value& x, Conv3dOptions options, SourceLocation where) {
  Layer layer(x, "conv3d", options.name, where);
  layer.require(is_volume(x), "the input is not a batch of volumes", kVolumeHint);
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
  const Value y =
      trireme::conv3d(x, weight,
                      {.stride = list(options.stride),
                       .padding = padding_of(size_of_volume(x), options.padding, options.kernel,
                                             options.stride, options.dilation),
                       .dilation = list(options.dilation),
                       .groups = options.groups});
  return add_bias_and_activation(layer, y, options, where);
}

Value conv_transpose3d(const Value& x, ConvTranspose3dOptions options, SourceLocation where) {
  Layer layer(x, "conv_transpose3d", options.name, where);
  layer.require(is_volume(x), "the input is not a batch of volumes", kVolumeHint);
  layer.require(options.channels > 0, "channels must be at least 1", "{.channels = 32}");
  const auto kernel = list(options.kernel), stride = list(options.stride);
  const auto dilation = list(options.dilation), extra = list(options.output_padding);
  layer.require(*std::min_element(kernel.begin(), kernel.end()) > 0, "the kernel is empty");
  const std::int64_t in = x.dim(1).constant();
  for (const std::int64_t channels : {in, options.channels}) {
    layer.require(options.groups > 0 && channels % options.groups == 0,
                  std::to_string(channels) + " channels cannot be divided into " +
                      std::to_string(options.groups) + " groups");
  }
  const auto from = size_of_volume(x), sides = list(options.padding.sides);
  constexpr std::int64_t kMax = std::int64_t{1} << 31;  // the op refuses larger numbers
  layer.require(*std::max_element(sides.begin(), sides.end()) < kMax &&
                    *std::min_element(sides.begin(), sides.end()) >= 0,
                "padding must be at least 0 and below 2^31");
  std::vector<std::int64_t> size;
  Shape shape{in, options.channels / options.groups};
  double window = 1, steps = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    size.push_back(options.padding.same ? (Dim(from[i]) * Dim(stride[i])).constant()
                                        : transposed_size(layer, from[i], kernel[i], stride[i],
                                                          dilation[i], 2 * sides[i], extra[i]));
    shape.push_back(kernel[i]);
    window *= static_cast<double>(kernel[i]);
    steps *= static_cast<double>(stride[i]);
  }
  const auto groups = static_cast<double>(options.groups);
  const Initializer initializer = transposed_init(options.weight_init, options.activation, window,
                                                  steps, static_cast<double>(in) / groups,
                                                  static_cast<double>(options.channels) / groups);
  const Value weight =
      layer.parameter("weight", x.dtype(), shape, initializer, true, options.weight_settings);
  const Value y =
      conv3d_input_gradient(x, weight,
                            {.size = size,
                             .stride = stride,
                             .padding = padding_of(size, options.padding, options.kernel,
                                                   options.stride, options.dilation),
                             .dilation = dilation,
                             .groups = options.groups});
  return add_bias_and_activation(layer, y, options, where);
}

Value max_pool3d(const Value& x, Pool3dOptions options, SourceLocation where) {
  const LocationScope at(x, "max_pool3d", where);
  require_volume(x, "max_pool3d");
  const Triple stride = options.stride.value_or(options.kernel);
  return pooled(x, options.kernel, stride, pool_padding(x, options, stride),
                [](const Value& images, const Window& window) {
                  return trireme::max_pool(images, {.kernel = window.kernel,
                                                    .stride = window.stride,
                                                    .padding = window.padding,
                                                    .layout = "nhwc"})
                      .front();
                });
}

Value avg_pool3d(const Value& x, Pool3dOptions options, SourceLocation where) {
  const LocationScope at(x, "avg_pool3d", where);
  options.count_padding.apply_to(options.count_include_pad, true);
  require_volume(x, "avg_pool3d");
  const Triple stride = options.stride.value_or(options.kernel);
  const auto own = padding_of(size_of_volume(x), options.padding, options.kernel, stride, 1);
  std::vector<std::int64_t> sides = pool_padding(x, options, stride);
  Value volume = x;
  if (sides != own && options.count_include_pad) {
    // The given padding counts as elements, but not what ceil_mode adds.
    volume =
        pad(x, {.low = {0, 0, own[0], own[2], own[4]}, .high = {0, 0, own[1], own[3], own[5]}});
    for (std::size_t i = 0; i < sides.size(); ++i) sides[i] -= own[i];
    options.count_include_pad = false;
  }
  return pooled(volume, options.kernel, stride, sides,
                [&](const Value& images, const Window& window) {
                  return trireme::avg_pool(images, {.kernel = window.kernel,
                                                    .stride = window.stride,
                                                    .padding = window.padding,
                                                    .count_include_pad = options.count_include_pad,
                                                    .layout = "nhwc"});
                });
}

Value global_avg_pool3d(const Value& x, SourceLocation where) {
  const LocationScope at(x, "global_avg_pool3d", where);
  require_volume(x, "global_avg_pool3d");
  return mean(x, {.axes = {2, 3, 4}});
}

Value global_max_pool3d(const Value& x, SourceLocation where) {
  const LocationScope at(x, "global_max_pool3d", where);
  require_volume(x, "global_max_pool3d");
  return reduce_max(x, {.axes = {2, 3, 4}});
}

Value adaptive_avg_pool3d(const Value& x, Triple size, SourceLocation where) {
  LocationScope at(x, "adaptive_avg_pool3d", where);
  require_volume(x, "adaptive_avg_pool3d");
  check_bins(x, "adaptive_avg_pool3d", size_of_volume(x), list(size));
  const Value narrow = means_along(at, means_along(at, x, 4, size.width), 3, size.height);
  return means_along(at, narrow, 2, size.depth);
}

Value adaptive_max_pool3d(const Value& x, Triple size, SourceLocation where) {
  LocationScope at(x, "adaptive_max_pool3d", where);
  require_volume(x, "adaptive_max_pool3d");
  check_bins(x, "adaptive_max_pool3d", size_of_volume(x), list(size));
  const Value narrow = maxima_along(at, maxima_along(at, x, 4, size.width), 3, size.height);
  return maxima_along(at, narrow, 2, size.depth);
}

}  // namespace trireme::nn
