// Max pooling that returns where the maxima are, and its inverse.

#include <string>

#include "nn/windows.h"
#include "trireme/convolution.h"
#include "trireme/functions.h"
#include "trireme/shorthand.h"

namespace trireme::nn {
namespace {

// Numbers along an axis of the windows, spread to the shape of `like`.
Value window_numbers(LocationScope& at, const Value& like, int axis) {
  const Dim& size = like.dim(axis);
  const Value numbers =
      at.make("iota", {{"axis", std::int64_t{0}}, {"dtype", DType::i64}, {"shape", Shape{size}}});
  return spread(numbers, like, {axis});
}

// From the position of each maximum in its window to its position in the image.
Value positions_in_image(LocationScope& at, const Value& in_window, const Pair& kernel,
                         const Pair& stride, const std::vector<std::int64_t>& sides,
                         std::int64_t width) {
  const Value position = cast(in_window, {.dtype = DType::i64});
  const Value row = position / static_cast<double>(kernel.width);
  const Value column = position - row * static_cast<double>(kernel.width);
  const Value top = window_numbers(at, position, 2) * static_cast<double>(stride.height) -
                    static_cast<double>(sides[0]);
  const Value left = window_numbers(at, position, 3) * static_cast<double>(stride.width) -
                     static_cast<double>(sides[2]);
  return (top + row) * static_cast<double>(width) + left + column;
}

// x [n, c, ...] and indices into `size` elements of each channel.
Value unpooled(const char* what, const Value& x, const Value& indices,
               const std::vector<std::int64_t>& size, int rank) {
  const auto refuse = [&](const std::string& message, const std::string& hint) {
    fail_layer(what, message, hint, x);
  };
  if (x.rank() != rank || indices.shape() != x.shape()) {
    refuse("x and the indices must have the shape that pooling returned, not " + x.str() + " and " +
               indices.str(),
           "");
  }
  if (!is_arithmetic_float(x.dtype()) ||
      (indices.dtype() != DType::i64 && indices.dtype() != DType::i32)) {
    refuse("x must be f32 or f64, and the indices i64 or i32", "");
  }
  Dim windows = 1, elements = 1;
  for (int axis = 2; axis < rank; ++axis) windows = windows * x.dim(axis);
  Shape shape{x.dim(0), x.dim(1)};
  for (const std::int64_t side : size) {
    if (side < 0) refuse("the size is negative", "give that of the pooled input");
    elements = elements * Dim(side);
    shape.push_back(side);
  }
  const Shape flat{x.dim(0), x.dim(1), windows};
  const Value places = reshape(indices, {.shape = flat}), numbers = reshape(x, {.shape = flat});
  const auto added = [&](const Value& updates) {
    return scatter_add_along_axis(places, updates, {.size = {elements}, .axis = 2});
  };
  // Windows that share their maximum have equal elements.
  const Value counts = take_along_axis(added(ones_like(numbers)), places, {.axis = 2});
  return reshape(added(numbers / counts), {.shape = shape});
}

}  // namespace

PooledMaxima max_pool_with_indices(const Value& x, PoolOptions options, SourceLocation where) {
  LocationScope at(x, "max_pool_with_indices", where);
  require_image(x, "max_pool_with_indices");
  const Pair stride = options.stride.value_or(options.kernel);
  const std::vector<std::int64_t> sides = pool_padding(x, options, stride);
  const std::vector<Value> pooled = trireme::max_pool(
      x, {.kernel = list(options.kernel), .stride = list(stride), .padding = sides});
  return {pooled[0],
          positions_in_image(at, pooled[1], options.kernel, stride, sides, x.dim(3).constant())};
}

PooledMaxima max_pool1d_with_indices(const Value& x, Pool1dOptions options, SourceLocation where) {
  const LocationScope at(x, "max_pool1d_with_indices", where);
  require_line(x, "max_pool1d_with_indices");
  const PooledMaxima pooled = max_pool_with_indices(as_image(x), image_options(options), where);
  return {as_line(pooled.values), as_line(pooled.indices)};
}

// Pools height and width of each slice first, and then the depth. Of equal elements the first one
// is selected, because the first in a window is the first in the first slice.
PooledMaxima max_pool3d_with_indices(const Value& x, Pool3dOptions options, SourceLocation where) {
  LocationScope at(x, "max_pool3d_with_indices", where);
  require_volume(x, "max_pool3d_with_indices");
  const Triple kernel = options.kernel, stride = options.stride.value_or(kernel);
  const std::vector<std::int64_t> sides = pool_padding(x, options, stride);
  const Dim channels = x.dim(0) * x.dim(1);
  const Dim &depth = x.dim(2), &height = x.dim(3), &width = x.dim(4);
  const Value slices = reshape(x, {.shape = {channels, depth, height, width}});
  const Pair flat_kernel(kernel.height, kernel.width), flat_stride(stride.height, stride.width);
  const std::vector<std::int64_t> flat_sides(sides.begin() + 2, sides.end());
  const std::vector<Value> flat = trireme::max_pool(
      slices, {.kernel = list(flat_kernel), .stride = list(flat_stride), .padding = flat_sides});
  const Value in_slice =
      positions_in_image(at, flat[1], flat_kernel, flat_stride, flat_sides, width.constant());
  const Dim &rows = flat[0].dim(2), &columns = flat[0].dim(3);
  const Shape columns_of{channels, 1, depth, rows * columns};
  const std::vector<Value> deep = trireme::max_pool(reshape(flat[0], {.shape = columns_of}),
                                                    {.kernel = {kernel.depth, 1},
                                                     .stride = {stride.depth, 1},
                                                     .padding = {sides[0], sides[1], 0, 0}});
  // The slice of each maximum; in padding alone the nearest one, whose index is unused.
  const Value slice_of = window_numbers(at, deep[1], 2) * static_cast<double>(stride.depth) -
                         static_cast<double>(sides[0]) + cast(deep[1], {.dtype = DType::i64});
  const Value in_plane =
      take_along_axis(reshape(in_slice, {.shape = columns_of}), slice_of, {.axis = 2});
  const Value index =
      slice_of * static_cast<double>(height.constant() * width.constant()) + in_plane;
  const Shape shape{x.dim(0), x.dim(1), deep[0].dim(2), rows, columns};
  return {reshape(deep[0], {.shape = shape}), reshape(index, {.shape = shape})};
}

Value max_unpool(const Value& x, const Value& indices, Pair size, SourceLocation where) {
  const LocationScope at(x, "max_unpool", where);
  return unpooled("max_unpool", x, indices, list(size), 4);
}

Value max_unpool1d(const Value& x, const Value& indices, std::int64_t size, SourceLocation where) {
  const LocationScope at(x, "max_unpool1d", where);
  return unpooled("max_unpool1d", x, indices, {size}, 3);
}

Value max_unpool3d(const Value& x, const Value& indices, Triple size, SourceLocation where) {
  const LocationScope at(x, "max_unpool3d", where);
  return unpooled("max_unpool3d", x, indices, {size.depth, size.height, size.width}, 5);
}

}  // namespace trireme::nn
