#pragma once

// Code that convolutions and pooling share.

#include <cstdint>
#include <optional>
#include <vector>

#include "nn/layer.h"
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

}  // namespace trireme::nn
