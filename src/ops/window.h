#pragma once

// Windows that slide over the last axes of [N, C, H, W] or [N, C, D, H, W], for convolutions and
// pooling. layout.h handles the other layout.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/index.h"

namespace trireme::ops {

// A larger number in a window is an error. Sizes are below 2^62, so no sum of these overflows.
inline constexpr std::int64_t kLargestWindowNumber = (std::int64_t{1} << 31) - 1;

struct Window {
  std::vector<std::int64_t> kernel, stride, dilation;  // one per axis
  std::vector<std::int64_t> padding;                   // top, bottom, left, right: two per axis

  explicit Window(std::size_t axes = 2)
      : kernel(axes, 1), stride(axes, 1), dilation(axes, 1), padding(2 * axes, 0) {}
  std::size_t axes() const { return kernel.size(); }
  std::int64_t before(std::size_t axis) const { return padding[2 * axis]; }
  std::int64_t after(std::size_t axis) const { return padding[2 * axis + 1]; }
  std::int64_t span(std::size_t axis) const { return dilation[axis] * (kernel[axis] - 1) + 1; }
  // Number of windows along an axis of `size` elements; 0 or less if none fits.
  std::int64_t count(std::size_t axis, std::int64_t size) const;
};

// Reads the attributes `stride` and `padding`, and `kernel` and `dilation` if present. TypeError
// for lists of other lengths and for numbers that are out of range.
Window window_of(const Attributes& attributes, std::size_t axes = 2);

// TypeError unless `type` is f32 or f64 [N, C, H, W] with constant H and W, or [N, C, D, H, W] for
// three axes.
void require_image(const Type& type, const std::string& text, std::size_t axes = 2);
// The same for any dtype.
void require_image_shape(const Type& type, const std::string& text, std::size_t axes = 2);
// Returns H and W. Precondition: require_image.
std::array<std::int64_t, 2> image_size(const Type& type);

// Returns [N, C, count(0, H), count(1, W)], or the same with three axes. TypeError if no window
// fits.
Shape windows_shape(const Shape& image, const Dim& channels, const Window& window,
                    const std::string& text);

}  // namespace trireme::ops
