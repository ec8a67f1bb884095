#pragma once

// What the layers with windows share: convolutions and pooling.

#include <cstdint>
#include <optional>
#include <vector>

#include "nn/layer.h"
#include "trireme/nn.h"

namespace trireme::nn {

// The given initializer, or the default of layers with an activation or without.
Initializer weight_init(const std::optional<Initializer>& given, const Activation& activation);

std::vector<std::int64_t> list(const Pair& pair);  // as the ops take it

// All elements of padding along an axis that make ceil(size / stride) windows fit.
std::int64_t same_padding(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation);
// Top, bottom, left, right in numbers for images of that height and width.
std::vector<std::int64_t> padding_of(const Pair& size, const Padding& padding, const Pair& kernel,
                                     const Pair& stride, const Pair& dilation);

// [batch, channels, height, width], all but the batch constant.
bool is_image(const Value& x);
void require_image(const Value& x, const char* what);  // Error(usage)
Pair size_of_image(const Value& x);                    // precondition: is_image(x)
extern const char* const kImageHint;

}  // namespace trireme::nn
