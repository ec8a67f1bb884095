#include "onnx/ops/slices.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "trireme/ops.h"

namespace trireme::onnx {
namespace {

Value sliced_by(const Value& x, int axis, const Dim& begin, const Dim& end, std::int64_t step) {
  const auto rank = static_cast<std::size_t>(x.rank());
  SliceAttrs attributes{.starts = Shape(rank, Dim(0)), .limits = x.shape()};
  attributes.starts[static_cast<std::size_t>(axis)] = begin;
  attributes.limits[static_cast<std::size_t>(axis)] = end;
  if (step != 1) {
    attributes.strides.assign(rank, 1);
    attributes.strides[static_cast<std::size_t>(axis)] = step;
  }
  return slice(x, attributes);
}

// Numbers below 0 count from the end.
std::int64_t bounded(std::int64_t index, std::int64_t size, std::int64_t low, std::int64_t high) {
  return std::clamp(index < 0 ? index + size : index, low, high);
}

// Along an axis of constant size.
Value sliced_constant(const Value& x, int axis, std::int64_t size, std::int64_t start,
                      std::int64_t end, std::int64_t step) {
  if (step > 0) {
    const std::int64_t from = bounded(start, size, 0, size), to = bounded(end, size, 0, size);
    return sliced_by(x, axis, from, std::max(from, to), step);
  }
  // Backwards: forwards along the reversed axis. The end may lie before the first element.
  const std::int64_t from = bounded(start, size, -1, size - 1);
  const std::int64_t to = end < -size ? -1 : bounded(end, size, -1, size - 1);
  const std::int64_t begin = size - 1 - from, limit = std::max(begin, size - 1 - to);
  return sliced_by(flip(x, {.axes = {axis}}), axis, begin, limit,
                   step == std::numeric_limits<std::int64_t>::min() ? kEnd : -step);
}

Dim inside(const Dim& index, const Dim& size) {
  if (!index.is_constant() || index.constant() >= 0) return index;
  return size + index;
}

}  // namespace

Value part_of(const Value& x, int axis, const Dim& begin, const Dim& end) {
  return sliced_by(x, axis, begin, end, 1);
}

Value move_axis(const Value& x, int from, int to) {
  std::vector<std::int64_t> order;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != from) order.push_back(i);
  }
  order.insert(order.begin() + to, from);
  return transpose(x, {.permutation = order});
}

Value sliced(const NodeContext& n, const Value& x, int axis, const Dim& start, const Dim& end,
             std::int64_t step) {
  n.require(step != 0, "its step is 0");
  const Dim& size = x.dim(axis);
  if (size.is_constant() && start.is_constant() && end.is_constant()) {
    return sliced_constant(x, axis, size.constant(), start.constant(), end.constant(), step);
  }
  constexpr std::int64_t kFar = std::numeric_limits<std::int32_t>::max();
  const auto far = [&](const Dim& bound) {
    return bound.is_constant() && bound.constant() >= kFar;
  };
  const auto far_before = [&](const Dim& bound) {
    return bound.is_constant() && bound.constant() <= -kFar;
  };
  if (step == -1 && (far(start) || start == Dim(-1)) && far_before(end))
    return flip(x, {.axes = {axis}});
  n.require(step > 0, "it slices an axis of the size " + size.str() + " backwards");
  const Dim from = far_before(start) ? Dim(0) : inside(start, size);
  const Dim to = far(end) ? size : far_before(end) ? Dim(0) : inside(end, size);
  return sliced_by(x, axis, from, to, step);
}

}  // namespace trireme::onnx
