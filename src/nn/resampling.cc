// Padding with elements of the value itself, and resizing. Both gather elements at positions that
// are computed for each axis separately.

#include <algorithm>
#include <functional>
#include <string>

#include "nn/layer.h"
#include "trireme/functions.h"

namespace trireme {
namespace {

using Ints = std::vector<std::int64_t>;

Value iota_to(nn::LocationScope& at, std::int64_t count) {
  return at.make("iota",
                 {{"axis", std::int64_t{0}}, {"dtype", DType::i64}, {"shape", Shape{count}}});
}

// --- Padding

struct Padding {
  const char* name;
  // The maximum padding of a side of an axis of size n is n + max; kAnyNumber: no limit.
  std::int64_t max;
  // Returns the source element for the i64 position `place`, relative to the first element of an
  // axis of size n.
  std::function<Value(const Value& place, double n)> source;
};

constexpr std::int64_t kAnyNumber = -2;

void check(const Padding& padding, const Value& x, const Ints& low, const Ints& high) {
  if (low.size() != x.shape().size() || high.size() != x.shape().size()) {
    nn::fail_layer(padding.name, "`low` and `high` need a number for each axis",
                   "0 leaves an axis unchanged", x);
  }
  for (std::size_t i = 0; i < low.size(); ++i) {
    const std::int64_t largest = std::max(low[i], high[i]);
    if (low[i] == 0 && high[i] == 0) continue;
    const std::string axis = "axis " + std::to_string(i);
    if (low[i] < 0 || high[i] < 0) {
      nn::fail_layer(padding.name, axis + ": padding must not be negative",
                     "use slice() to remove elements", x);
    }
    const Dim& size = x.shape()[i];
    if (!size.is_constant() || size.constant() < 1) {
      nn::fail_layer(padding.name, axis + " must have a constant size of at least 1", "", x);
    }
    if (padding.max != kAnyNumber && largest > size.constant() + padding.max) {
      nn::fail_layer(padding.name,
                     axis + " has " + size.str() + " elements: " + std::to_string(largest) +
                         " on one side are too many",
                     "pad_edge() supports any number", x);
    }
  }
}

Value padded(const Padding& padding, const Value& x, const Ints& low, const Ints& high,
             SourceLocation where) {
  nn::LocationScope at(x, padding.name, where);
  check(padding, x, low, high);
  Value y = x;
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (low[i] == 0 && high[i] == 0) continue;
    const std::int64_t size = x.shape()[i].constant();
    const Value place = iota_to(at, low[i] + size + high[i]) - static_cast<double>(low[i]);
    y = gather(y, padding.source(place, static_cast<double>(size)),
               {.axis = static_cast<std::int64_t>(i)});
  }
  return y;
}

// --- Resizing

void check_image(const char* what, const Value& x, std::int64_t height, std::int64_t width) {
  const auto is_not_empty = [](const Dim& size) {
    return size.is_constant() && size.constant() >= 1;
  };
  if (x.rank() != 4 || !is_not_empty(x.dim(2)) || !is_not_empty(x.dim(3))) {
    nn::fail_layer(
        what,
        "images must be [batch, channels, height, width] with constant height and width, at "
        "least 1",
        "", x);
  }
  if (height < 1 || width < 1) {
    nn::fail_layer(what, "the new height and width must be at least 1", "", x);
  }
}

Value nearest_along(nn::LocationScope& at, const Value& x, int axis, std::int64_t size) {
  const std::int64_t from = x.dim(axis).constant();
  if (from == size) return x;
  const Value place = iota_to(at, size) * static_cast<double>(from) / static_cast<double>(size);
  return gather(x, place, {.axis = std::int64_t{axis}});
}

// The source position is ((2 i + 1) from - size) / (2 size), computed in integers so that it is
// exact.
Value bilinear_along(nn::LocationScope& at, const Value& x, int axis, std::int64_t size) {
  const std::int64_t from = x.dim(axis).constant();
  if (from == size) return x;
  const auto unit = static_cast<double>(2 * size);
  const Value middle = iota_to(at, size) * 2.0 + 1.0;
  const Value place = maximum(middle * static_cast<double>(from) - static_cast<double>(size), 0.0);
  const Value below = place / unit;
  const Value above = minimum(below + 1.0, static_cast<double>(from - 1));
  const Value part = cast(place - below * unit, {.dtype = x.dtype()}) / unit;
  const Value a = gather(x, below, {.axis = std::int64_t{axis}});
  const Value b = gather(x, above, {.axis = std::int64_t{axis}});
  // Not a + (b - a) * part, where equal infinities give NaN and large differences overflow. b does
  // not count where its part is 0.
  const Value of_b = nn::spread(part, a, {axis});
  return a * (1.0 - of_b) + trireme::where(0.0 < of_b, b * of_b, 0.0);
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
  nn::LocationScope at(x, "resize_nearest", where);
  check_image("resize_nearest", x, height, width);
  return nearest_along(at, nearest_along(at, x, 2, height), 3, width);
}

Value resize_bilinear(const Value& x, std::int64_t height, std::int64_t width,
                      SourceLocation where) {
  nn::LocationScope at(x, "resize_bilinear", where);
  check_image("resize_bilinear", x, height, width);
  if (!is_arithmetic_float(x.dtype())) {
    nn::fail_layer("resize_bilinear", "images must have a float dtype", "cast them to f32", x);
  }
  return bilinear_along(at, bilinear_along(at, x, 2, height), 3, width);
}

}  // namespace trireme
