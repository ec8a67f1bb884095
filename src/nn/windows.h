#pragma once

// Code that convolutions and pooling share.

#include <cstdint>
#include <optional>
#include <vector>

#include "nn/layer.h"
#include "trireme/convolution.h"
#include "trireme/nn.h"

namespace trireme::nn {

// Returns the given initializer, or the default of a layer with or without an activation.
Initializer weight_init(const std::optional<Initializer>& given, const Activation& activation);
// The factor by which weights must be larger so that numbers keep their size: 1 for identity,
// sigmoid and hard_sigmoid, 5 / 3 for tanh, sqrt(2 / (1 + slope^2)) for leaky_relu, else sqrt(2).
double gain_of(const Activation& activation);

std::vector<std::int64_t> list(const Pair& pair);  // in the form of the ops

// Returns the total padding along an axis with which ceil(size / stride) windows fit.
std::int64_t same_padding(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation);
// Returns top, bottom, left, right in numbers, for images of that height and width.
std::vector<std::int64_t> padding_of(const Pair& size, const Padding& padding, const Pair& kernel,
                                     const Pair& stride, const Pair& dilation);

// Returns the padding after an axis with ceil_mode: as much more that the last window, which begins
// before the end of the axis, fits. `before` and `after` are the padding without ceil_mode.
std::int64_t padding_for_ceil(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                              std::int64_t before, std::int64_t after);

// Whether x is [batch, channels, height, width] with all sizes constant except the batch.
bool is_image(const Value& x);
void require_image(const Value& x, const char* what);  // Error(usage)
Pair size_of_image(const Value& x);                    // precondition: is_image(x)
extern const char* const kImageHint;

// The same for lines [batch, channels, length], which become images of height 1, and back.
bool is_line(const Value& x);
void require_line(const Value& x, const char* what);  // Error(usage)
extern const char* const kLineHint;
Value as_image(const Value& line);
Value as_line(const Value& image);

// Error(usage) unless x is [batch, channels, depth, height, width], constant except the batch.
void require_volume(const Value& x, const char* what);

// The window of lines, on images of height 1.
PoolOptions image_options(const Pool1dOptions& options);
// Returns top, bottom, left, right of the padding of pooling, after front and back for volumes.
// With ceil_mode the second of each pair may be larger.
std::vector<std::int64_t> pool_padding(const Value& x, const PoolOptions& options,
                                       const Pair& stride);
std::vector<std::int64_t> pool_padding(const Value& x, const Pool3dOptions& options,
                                       const Triple& stride);

// Adaptive pooling along one axis of constant size to `to` bins. Precondition: both are at least 1
// and at most 2^31.
Value means_along(LocationScope& at, const Value& x, int axis, std::int64_t to);
Value maxima_along(LocationScope& at, const Value& x, int axis, std::int64_t to);
// Error(usage) unless each size of `from`, a constant axis of x, can be pooled to that of `to`.
void check_bins(const Value& x, const char* what, const std::vector<std::int64_t>& from,
                const std::vector<std::int64_t>& to);

// Returns the length of the result of a transposed convolution along an axis. Error(usage) unless
// it is above 0 and the options are valid.
std::int64_t transposed_size(Layer& layer, std::int64_t size, std::int64_t kernel,
                             std::int64_t stride, std::int64_t dilation, std::int64_t padding,
                             std::int64_t extra);
// The initializer of its weight, where one result sums up `in` / `groups` windows of `window`
// elements, divided by the product `steps` of the strides.
Initializer transposed_init(const std::optional<Initializer>& given, const Activation& activation,
                            double window, double steps, double in, double out);

// Returns y [batch, channels, ...] with the bias and the activation of a convolution.
template <class Options>
Value add_bias_and_activation(Layer& layer, Value y, const Options& options, SourceLocation where) {
  if (options.bias) {
    y = y + spread(layer.parameter("bias", y.dtype(), {options.channels}, options.bias_init, true,
                                   options.bias_settings),
                   y, {1});
  }
  return options.activation ? options.activation(y, where) : y;
}

}  // namespace trireme::nn
