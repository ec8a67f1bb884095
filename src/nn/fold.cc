// The inverse of im2sequence: windows are added up to an image.

#include <algorithm>
#include <string>

#include "nn/windows.h"
#include "trireme/convolution.h"

namespace trireme::nn {
namespace {

// How many windows fit along an axis of `size` elements, with padding; 0 if none does.
std::int64_t windows_in(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                        std::int64_t dilation) {
  const std::int64_t span = dilation * (kernel - 1) + 1;
  return size < span ? 0 : (size - span) / stride + 1;
}

// Adds [windows, kernel, ...] to [size, ...], where element j of window i belongs to
// i * stride + j * dilation.
Value add_windows_along(LocationScope& at, const Value& x, std::int64_t size, std::int64_t stride,
                        std::int64_t dilation) {
  const Shape shape{x.dim(0), x.dim(1)};
  const auto numbers = [&](std::int64_t axis) {
    return at.make("iota", {{"axis", axis}, {"dtype", DType::i64}, {"shape", shape}});
  };
  const Value places =
      numbers(0) * static_cast<double>(stride) + numbers(1) * static_cast<double>(dilation);
  return scatter_add(places, x, {.rows = {size}});
}

}  // namespace

Value fold(const Value& x, FoldOptions options, SourceLocation where) {
  LocationScope at(x, "fold", where);
  const auto require = [&](bool holds, const std::string& message, const std::string& hint = "") {
    if (!holds) fail_layer("fold", message, hint, x);
  };
  require(x.rank() == 3 && x.dim(1).is_constant() && x.dim(2).is_constant(),
          "the input must be [batch, steps, features] with constant steps and features",
          "im2sequence returns such values");
  const Pair kernel = options.kernel, stride = options.stride.value_or(kernel);
  const Pair dilation = options.dilation, size = options.size;
  constexpr std::int64_t kMax = std::int64_t{1} << 31;  // products of two numbers fit into i64
  for (const Pair& pair : {kernel, stride, dilation, size}) {
    require(std::max(pair.height, pair.width) < kMax, "sizes of 2^31 or more are too large");
  }
  for (const Pair& pair : {kernel, stride, dilation}) {
    require(std::min(pair.height, pair.width) >= 1,
            "kernel, stride and dilation must be at least 1");
  }
  require(std::min(size.height, size.width) >= 1, "the size of the image must be at least 1",
          "set .size: {.size = {28, 28}}");
  const auto sides = padding_of(size, options.padding, kernel, stride, dilation);
  require(*std::min_element(sides.begin(), sides.end()) >= 0, "padding must not be negative");
  require(*std::max_element(sides.begin(), sides.end()) < kMax,
          "padding of 2^31 or more is too large");
  const std::int64_t height = size.height + sides[0] + sides[1];
  const std::int64_t width = size.width + sides[2] + sides[3];
  const std::int64_t rows = windows_in(height, kernel.height, stride.height, dilation.height);
  const std::int64_t columns = windows_in(width, kernel.width, stride.width, dilation.width);
  const std::int64_t window = kernel.height * kernel.width;
  require(x.dim(1) == Dim(rows) * Dim(columns),
          "such an image has " + std::to_string(rows) + " * " + std::to_string(columns) +
              " windows, but there are " + x.dim(1).str() + " steps");
  require(x.dim(2).constant() % window == 0, x.dim(2).str() +
                                                 " features cannot be divided into windows of " +
                                                 std::to_string(window) + " elements");
  const std::int64_t channels = x.dim(2).constant() / window;
  const Value windows =
      reshape(x, {.shape = {x.dim(0), rows, columns, channels, kernel.height, kernel.width}});
  const Value front = transpose(windows, {.permutation = {1, 4, 2, 5, 0, 3}});
  // [height, columns, kernel width, batch, channels], then [width, height, batch, channels].
  const Value lines = add_windows_along(at, front, height, stride.height, dilation.height);
  const Value turned = transpose(lines, {.permutation = {1, 2, 0, 3, 4}});
  const Value added = add_windows_along(at, turned, width, stride.width, dilation.width);
  const Value image = transpose(added, {.permutation = {2, 3, 1, 0}});
  if (sides == std::vector<std::int64_t>(4, 0)) return image;
  return slice(image, {.starts = {0, 0, sides[0], sides[2]},
                       .limits = {-1, -1, sides[0] + size.height, sides[2] + size.width}});
}

}  // namespace trireme::nn
