#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "nn/windows.h"
#include "trireme/convolution.h"

namespace trireme::nn {
namespace {

Value global(const Value& x, const char* what, SourceLocation where,
             const std::function<Value(const Value&)>& reduce) {
  const LocationScope at(x, what, where);
  require_image(x, what);
  return reduce(x);
}

// --- Adaptive pooling
// If the sizes divide evenly, the bins are the windows of ordinary pooling. Bins of different sizes
// are pooled along one axis after the other, because their rows and columns are independent.

constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

void check_adaptive(const Value& x, const Pair& size, const char* what) {
  require_image(x, what);
  check_bins(x, what, list(size_of_image(x)), list(size));
}

// Returns the windows if all bins have one size and none overlap.
std::optional<Pair> even_bins(const Pair& from, const Pair& to) {
  if (from.height % to.height != 0 || from.width % to.width != 0) return std::nullopt;
  return Pair(from.height / to.height, from.width / to.width);
}

Value iota_along(LocationScope& at, const Shape& shape, std::int64_t axis) {
  return at.make("iota", {{"axis", axis}, {"dtype", DType::i64}, {"shape", shape}});
}

// The first element of bin `number` of `to` bins, and the end, where `number` is a value of the
// Program.
Value bin_start(const Value& number, std::int64_t from, std::int64_t to) {
  return number * static_cast<double>(from) / static_cast<double>(to);
}
Value bin_end(const Value& number, std::int64_t from, std::int64_t to) {
  return ((number + 1.0) * static_cast<double>(from) + static_cast<double>(to - 1)) /
         static_cast<double>(to);
}

std::int64_t longest_bin(std::int64_t from, std::int64_t to) {
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < to; ++i) {
    longest = std::max(longest, divided_up((i + 1) * from, to) - i * from / to);
  }
  return longest;
}

}  // namespace

void check_bins(const Value& x, const char* what, const std::vector<std::int64_t>& from,
                const std::vector<std::int64_t>& to) {
  if (*std::min_element(to.begin(), to.end()) < 1) {
    fail_layer(what, "all sizes of the result must be at least 1", "", x);
  }
  if (*std::min_element(from.begin(), from.end()) < 1) {
    fail_layer(what, "the input is empty", "", x);
  }
  // Products of two sizes must fit into i64.
  constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;
  const std::int64_t largest = std::max(*std::max_element(from.begin(), from.end()),
                                        *std::max_element(to.begin(), to.end()));
  if (largest > kMaxSize) fail_layer(what, "sizes above 2^31 cannot be pooled", "", x);
}

// Averages bins. Those shorter than the longest read their last element again, which does not
// count. A product with a matrix of weights would spread infinity and NaN to other bins.
Value means_along(LocationScope& at, const Value& x, int axis, std::int64_t to) {
  const std::int64_t from = x.dim(axis).constant();
  if (from == to) return x;
  const Shape shape{to, longest_bin(from, to)};
  const Value bin = iota_along(at, shape, 0), end = bin_end(bin, from, to);
  const Value position = bin_start(bin, from, to) + iota_along(at, shape, 1);
  const Value elements = gather(x, minimum(position, end - 1.0), {.axis = std::int64_t{axis}});
  const Value inside = spread(position < end, elements, {axis, axis + 1});
  const Value total = sum(trireme::where(inside, elements, 0.0), {.axes = {axis + 1}});
  const Value number = iota_along(at, {to}, 0);
  const Value size = bin_end(number, from, to) - bin_start(number, from, to);
  return total / spread(cast(size, {.dtype = x.dtype()}), total, {axis});
}

// Bins shorter than the longest repeat their last element, which does not change the maximum. A
// gradient shared by equal elements is summed again.
Value maxima_along(LocationScope& at, const Value& x, int axis, std::int64_t to) {
  const std::int64_t from = x.dim(axis).constant();
  if (from == to) return x;
  const Shape shape{to, longest_bin(from, to)};
  const Value bin = iota_along(at, shape, 0);
  const Value position =
      minimum(bin_start(bin, from, to) + iota_along(at, shape, 1), bin_end(bin, from, to) - 1.0);
  return reduce_max(gather(x, position, {.axis = std::int64_t{axis}}), {.axes = {axis + 1}});
}

namespace {

// --- Windows as sequences

// Gathers the elements of every window along an axis: [..., size, ...] to
// [..., windows, kernel, ...].
Value windows_along(LocationScope& at, const Value& x, int axis, std::int64_t kernel,
                    std::int64_t stride, std::int64_t dilation) {
  const std::int64_t size = x.dim(axis).constant();
  const std::int64_t span = dilation * (kernel - 1) + 1;
  if (size < span) {
    fail_layer("im2sequence",
               "a window of " + std::to_string(span) + " elements does not fit into " +
                   std::to_string(size),
               "use a smaller kernel, or padding", x);
  }
  const std::int64_t count = (size - span) / stride + 1;
  if (stride == kernel && dilation == 1 && count * kernel == size) {
    Shape shape = x.shape();
    shape[static_cast<std::size_t>(axis)] = Dim(count);
    shape.insert(shape.begin() + axis + 1, Dim(kernel));
    return reshape(x, {.shape = shape});
  }
  const Shape shape{count, kernel};
  const Value position = iota_along(at, shape, 0) * static_cast<double>(stride) +
                         iota_along(at, shape, 1) * static_cast<double>(dilation);
  return gather(x, position, {.axis = std::int64_t{axis}});
}

}  // namespace

std::int64_t padding_for_ceil(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                              std::int64_t before, std::int64_t after) {
  constexpr std::int64_t kMax = std::int64_t{1} << 31;  // the op refuses larger numbers
  if (std::max({size, kernel, stride, before, after}) >= kMax || stride < 1) return after;
  const std::int64_t all = size + before + after;
  if (all < kernel || (all - kernel) % stride == 0) return after;
  const std::int64_t first = ((all - kernel) / stride + 1) * stride;  // of the added window
  return first >= size + before ? after : first + kernel - size - before;
}

std::vector<std::int64_t> pool_padding(const Value& x, const PoolOptions& options,
                                       const Pair& stride) {
  const Pair size = size_of_image(x), kernel = options.kernel;
  std::vector<std::int64_t> sides = padding_of(size, options.padding, kernel, stride, 1);
  if (!options.ceil_mode || options.padding.same) return sides;
  sides[1] = padding_for_ceil(size.height, kernel.height, stride.height, sides[0], sides[1]);
  sides[3] = padding_for_ceil(size.width, kernel.width, stride.width, sides[2], sides[3]);
  return sides;
}

Value max_pool(const Value& x, PoolOptions options, SourceLocation where) {
  const LocationScope at(x, "max_pool", where);
  require_image(x, "max_pool");
  const Pair stride = options.stride.value_or(options.kernel);
  return trireme::max_pool(x, {.kernel = list(options.kernel),
                               .stride = list(stride),
                               .padding = pool_padding(x, options, stride)})
      .front();
}

Value avg_pool(const Value& x, PoolOptions options, SourceLocation where) {
  const LocationScope at(x, "avg_pool", where);
  require_image(x, "avg_pool");
  options.count_padding.apply_to(options.count_include_pad, true);
  const Pair stride = options.stride.value_or(options.kernel);
  const auto own = padding_of(size_of_image(x), options.padding, options.kernel, stride, 1);
  std::vector<std::int64_t> sides = pool_padding(x, options, stride);
  Value image = x;
  if (sides != own && options.count_include_pad) {
    // The given padding counts as elements, but not what ceil_mode adds.
    image = pad(x, {.low = {0, 0, own[0], own[2]}, .high = {0, 0, own[1], own[3]}});
    for (std::size_t i = 0; i < 4; ++i) sides[i] -= own[i];
    options.count_include_pad = false;
  }
  return trireme::avg_pool(image, {.kernel = list(options.kernel),
                                   .stride = list(stride),
                                   .padding = sides,
                                   .count_include_pad = options.count_include_pad});
}

Value global_avg_pool(const Value& x, SourceLocation where) {
  return global(x, "global_avg_pool", where,
                [](const Value& image) { return mean(image, {.axes = {2, 3}}); });
}

Value global_max_pool(const Value& x, SourceLocation where) {
  return global(x, "global_max_pool", where,
                [](const Value& image) { return reduce_max(image, {.axes = {2, 3}}); });
}

Value adaptive_avg_pool(const Value& x, Pair size, SourceLocation where) {
  LocationScope at(x, "adaptive_avg_pool", where);
  check_adaptive(x, size, "adaptive_avg_pool");
  if (const auto bin = even_bins(size_of_image(x), size)) return avg_pool(x, {.kernel = *bin});
  return means_along(at, means_along(at, x, 3, size.width), 2, size.height);
}

Value adaptive_max_pool(const Value& x, Pair size, SourceLocation where) {
  LocationScope at(x, "adaptive_max_pool", where);
  check_adaptive(x, size, "adaptive_max_pool");
  if (const auto bin = even_bins(size_of_image(x), size)) return max_pool(x, {.kernel = *bin});
  return maxima_along(at, maxima_along(at, x, 3, size.width), 2, size.height);
}

Value im2sequence(const Value& x, Im2SequenceOptions options, SourceLocation where) {
  LocationScope at(x, "im2sequence", where);
  require_image(x, "im2sequence");
  const Pair stride = options.stride.value_or(options.kernel);
  const auto min_side = [&](const Pair& pair) { return std::min(pair.height, pair.width); };
  if (min_side(options.kernel) < 1 || min_side(stride) < 1 || min_side(options.dilation) < 1) {
    fail_layer("im2sequence", "kernel, stride and dilation must be at least 1", "", x);
  }
  const auto sides =
      padding_of(size_of_image(x), options.padding, options.kernel, stride, options.dilation);
  const bool padded = sides != std::vector<std::int64_t>(4, 0);
  const Value wide =
      !padded ? x : pad(x, {.low = {0, 0, sides[0], sides[2]}, .high = {0, 0, sides[1], sides[3]}});
  // [batch, channels, rows, kernel height, columns, kernel width]
  const Value rows =
      windows_along(at, wide, 2, options.kernel.height, stride.height, options.dilation.height);
  const Value windows =
      windows_along(at, rows, 4, options.kernel.width, stride.width, options.dilation.width);
  const Value ordered = transpose(windows, {.permutation = {0, 2, 4, 1, 3, 5}});
  return reshape(ordered, {.shape = {x.dim(0), windows.dim(2) * windows.dim(4),
                                     x.dim(1) * options.kernel.height * options.kernel.width}});
}

}  // namespace trireme::nn
