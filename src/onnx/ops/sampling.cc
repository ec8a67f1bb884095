#include "onnx/ops/sampling.h"

#include "onnx/ops/operators.h"
#include "onnx/ops/windows.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

// Mirrored at both bounds, as often as it takes.
Value reflected(const Value& x, double low, double high) {
  if (high <= low) return full_like(x, low);
  const double range = high - low;
  const Value place = floor_mod(x - low, 2 * range);
  return minimum(place, 2 * range - place) + low;
}

struct Sampler {
  const NodeContext& n;
  const Sampling& sampling;
  Integers sizes;
  Value flat;  // [batch, channels, elements]

  Value bounded(const Value& x, std::size_t axis) const {
    const auto last = static_cast<double>(sizes[axis] - 1);
    if (sampling.padding == "border") return minimum(maximum(x, 0.0), last);
    if (sampling.padding != "reflection") return x;
    const double outside = sampling.align_corners ? 0.0 : 0.5;
    return minimum(maximum(reflected(x, -outside, last + outside), 0.0), last);
  }

  // The elements at whole coordinates [batch, points], as floats: 0 outside.
  Value at(const std::vector<Value>& whole) const {
    Value place, inside;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      const auto last = static_cast<double>(sizes[axis] - 1);
      const Value x = bounded(whole[axis], axis);
      const Value in = logical_and(x >= 0.0, x <= last);
      inside = inside ? logical_and(inside, in) : in;
      const Value index = cast(minimum(maximum(x, 0.0), last), {.dtype = i64});
      place = place ? place * static_cast<double>(sizes[axis]) + index : index;
    }
    const Shape shape = {flat.dim(0), flat.dim(1), place.dim(1)};
    const auto for_channels = [&](const Value& v) {
      return broadcast(v, {.shape = shape, .axes = {0, 2}});
    };
    const Value read = take_along_axis(flat, for_channels(place), {.axis = 2});
    return where(for_channels(inside), read, 0.0);
  }
};

// The weights of the elements from floor(x) + first on. Keys 1981, with a = -0.75.
std::vector<Value> cubic_weights(const Value& t) {
  constexpr double a = -0.75;
  const auto outer = [](const Value& d) { return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a; };
  const auto inner = [](const Value& d) { return (d * (a + 2) - (a + 3)) * d * d + 1.0; };
  return {outer(t + 1.0), inner(t), inner(1.0 - t), outer(2.0 - t)};
}

}  // namespace

Value sample(const NodeContext& n, const Value& x, const std::vector<Value>& coordinates,
             const Sampling& sampling) {
  Sampler sampler{n, sampling, spatial_sizes(n, x), {}};
  std::int64_t elements = 1;
  for (const std::int64_t size : sampler.sizes) elements *= size;
  n.require(elements > 0, "it samples an image without elements");
  sampler.flat = reshape(x, {.shape = {x.dim(0), x.dim(1), elements}});
  const bool cubic = sampling.mode == "cubic";
  std::vector<Value> low;                   // the first element of each axis
  std::vector<std::vector<Value>> weights;  // of the elements from it on
  for (std::size_t axis = 0; axis < coordinates.size(); ++axis) {
    const Value c = cubic ? coordinates[axis] : sampler.bounded(coordinates[axis], axis);
    if (sampling.mode == "nearest") {
      low.push_back(round(c));
      weights.emplace_back(1);
      continue;
    }
    const Value below = floor(c);
    const Value t = c - below;
    low.push_back(cubic ? below - 1.0 : below);
    weights.push_back(cubic ? cubic_weights(t) : std::vector<Value>{1.0 - t, t});
  }
  // All combinations of elements, with the product of their weights.
  Value total;
  std::vector<std::size_t> taps(coordinates.size(), 0);
  for (bool more = true; more;) {
    std::vector<Value> whole;
    Value weight;
    for (std::size_t axis = 0; axis < taps.size(); ++axis) {
      whole.push_back(low[axis] + static_cast<double>(taps[axis]));
      const Value& w = weights[axis][taps[axis]];
      if (w) weight = weight ? weight * w : w;
    }
    const Value read = sampler.at(whole);
    const Value part = weight ? read * unsqueeze(weight, 1) : read;
    total = !total ? part : sampling.largest ? maximum(total, part) : total + part;
    more = false;
    for (std::size_t axis = 0; axis < taps.size() && !more; ++axis) {
      taps[axis] = (taps[axis] + 1) % weights[axis].size();
      more = taps[axis] != 0;
    }
  }
  return total;
}

}  // namespace trireme::onnx
