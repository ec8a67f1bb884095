// Padding with elements of the value itself, and resizing: both read elements at places that are
// computed for each axis alone.

#include <algorithm>
#include <functional>
#include <string>

#include "nn/layer.h"
#include "trireme/functions.h"

namespace trireme {
namespace {

using Ints = std::vector<std::int64_t>;

Value numbers_to(nn::At& at, std::int64_t count) {
  return at.make("iota",
                 {{"axis", std::int64_t{0}}, {"dtype", DType::i64}, {"shape", Shape{count}}});
}

// --- Padding

struct Padding {
  const char* name;
  std::int64_t most;  // elements on one side of an axis of size n: n + most; -2 for any number
  // The element of an axis of size n that stands at i64 `place`, which counts from its first.
  std::function<Value(const Value& place, double n)> source;
};

constexpr std::int64_t kAnyNumber = -2;

void check(const Padding& padding, const Value& x, const Ints& low, const Ints& high) {
  if (low.size() != x.shape().size() || high.size() != x.shape().size()) {
    nn::fail_layer(padding.name, "`low` and `high` need a number for each axis",
                   "leave an axis as it is with 0", x);
  }
  for (std::size_t i = 0; i < low.size(); ++i) {
    const std::int64_t most = std::max(low[i], high[i]);
    if (low[i] == 0 && high[i] == 0) continue;
    const std::string axis = "axis " + std::to_string(i);
    if (low[i] < 0 || high[i] < 0) {
      nn::fail_layer(padding.name, axis + ": padding must not be negative", "cut with slice()", x);
    }
    const Dim& size = x.shape()[i];
    if (!size.is_constant() || size.constant() < 1) {
      nn::fail_layer(padding.name, axis + " must be of constant size, 1 or more", "", x);
    }
    if (padding.most != kAnyNumber && most > size.constant() + padding.most) {
      nn::fail_layer(padding.name,
                     axis + " has " + size.str() + " elements: " + std::to_string(most) +
                         " on one side are too many",
                     "pad_edge() puts any number around", x);
    }
  }
}

Value padded(const Padding& padding, const Value& x, const Ints& low, const Ints& high,
             SourceLocation where) {
  nn::At at(x, padding.name, where);
  check(padding, x, low, high);
  Value y = x;
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (low[i] == 0 && high[i] == 0) continue;
    const std::int64_t size = x.shape()[i].constant();
    const Value place = numbers_to(at, low[i] + size + high[i]) - static_cast<double>(low[i]);
    y = gather(y, padding.source(place, static_cast<double>(size)),
               {.axis = static_cast<std::int64_t>(i)});
  }
  return y;
}

// --- Resizing

void check_image(const char* what, const Value& x, std::int64_t height, std::int64_t width) {
  const auto some = [](const Dim& size) { return size.is_constant() && size.constant() >= 1; };
  if (x.rank() != 4 || !some(x.dim(2)) || !some(x.dim(3))) {
    nn::fail_layer(what,
                   "images are [batch, channels, height, width] with constant height and width, 1 "
                   "or more",
                   "", x);
  }
  if (height < 1 || width < 1) {
    nn::fail_layer(what, "the new height and width must be 1 or more", "", x);
  }
}

Value nearest_along(nn::At& at, const Value& x, int axis, std::int64_t size) {
  const std::int64_t from = x.dim(axis).constant();
  if (from == size) return x;
  const Value place = numbers_to(at, size) * static_cast<double>(from) / static_cast<double>(size);
  return gather(x, place, {.axis = std::int64_t{axis}});
}

// The place ((2 i + 1) from - size) / (2 size) in whole numbers, so that it is exact.
Value bilinear_along(nn::At& at, const Value& x, int axis, std::int64_t size) {
  const std::int64_t from = x.dim(axis).constant();
  if (from == size) return x;
  const auto unit = static_cast<double>(2 * size);
  const Value middle = numbers_to(at, size) * 2.0 + 1.0;
  const Value place = maximum(middle * static_cast<double>(from) - static_cast<double>(size), 0.0);
  const Value below = place / unit;
  const Value above = minimum(below + 1.0, static_cast<double>(from - 1));
  const Value part = cast(place - below * unit, {.dtype = x.dtype()}) / unit;
  const Value a = gather(x, below, {.axis = std::int64_t{axis}});
  const Value b = gather(x, above, {.axis = std::int64_t{axis}});
  return a + (b - a) * nn::spread(part, a, {axis});
}

}  // namespace

Value pad_reflect(const Value& x, const Ints& low, const Ints& high, SourceLocation where) {
  const auto source = [](const Value& place, double n) {
    return (n - 1) - abs((n - 1) - abs(place));
  };
  return padded({"pad_reflect", -1, source}, x, low, high, where);
}

Value pad_edge(const Value& x, const Ints& low, const Ints& high, SourceLocation where) {
  const auto source = [](const Value& place, double n) { return clamp(place, 0, n - 1); };
  return padded({"pad_edge", kAnyNumber, source}, x, low, high, where);
}

Value pad_circular(const Value& x, const Ints& low, const Ints& high, SourceLocation where) {
  const auto source = [](const Value& place, double n) { return floor_mod(place, n); };
  return padded({"pad_circular", 0, source}, x, low, high, where);
}

Value resize_nearest(const Value& x, std::int64_t height, std::int64_t width,
                     SourceLocation where) {
  nn::At at(x, "resize_nearest", where);
  check_image("resize_nearest", x, height, width);
  return nearest_along(at, nearest_along(at, x, 2, height), 3, width);
}

Value resize_bilinear(const Value& x, std::int64_t height, std::int64_t width,
                      SourceLocation where) {
  nn::At at(x, "resize_bilinear", where);
  check_image("resize_bilinear", x, height, width);
  if (!is_float(x.dtype())) {
    nn::fail_layer("resize_bilinear", "images must be of floats", "cast them to f32", x);
  }
  return bilinear_along(at, bilinear_along(at, x, 2, height), 3, width);
}

}  // namespace trireme
