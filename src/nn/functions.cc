#include "trireme/functions.h"

#include <algorithm>
#include <string>

#include "nn/layer.h"

namespace trireme {
namespace {

using Ints = std::vector<std::int64_t>;

// Returns `axis`, which is in [-count, count), as a number in [0, count); otherwise Error(usage).
int checked_axis(const char* what, const Value& x, std::int64_t axis, int count) {
  if (axis < -count || axis >= count) {
    nn::fail_layer(what, "there is no axis " + std::to_string(axis),
                   "axes count from 0; negative axes count from the end", x);
  }
  return static_cast<int>(axis < 0 ? axis + count : axis);
}

const Value& first_of(const std::vector<Value>& xs) {
  static const Value none;
  return xs.empty() ? none : xs.front();
}

}  // namespace

Value unsqueeze(const Value& x, int axis, SourceLocation where) {
  const nn::LocationScope at(x, "unsqueeze", where);
  Shape shape = x.shape();
  shape.insert(shape.begin() + checked_axis("unsqueeze", x, axis, x.rank() + 1), Dim(1));
  return reshape(x, {.shape = shape});
}

Value squeeze(const Value& x, const Ints& axes, SourceLocation where) {
  const nn::LocationScope at(x, "squeeze", where);
  std::vector<bool> dropped(x.shape().size(), false);
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    dropped[i] = axes.empty() && x.shape()[i] == Dim(1);
  }
  for (const std::int64_t given : axes) {
    const int axis = checked_axis("squeeze", x, given, x.rank());
    if (x.dim(axis) != Dim(1)) {
      nn::fail_layer("squeeze", "axis " + std::to_string(given) + " does not have size 1",
                     "select one of its elements with slice(), or reduce it", x);
    }
    dropped[static_cast<std::size_t>(axis)] = true;
  }
  Shape shape;
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    if (!dropped[i]) shape.push_back(x.shape()[i]);
  }
  return reshape(x, {.shape = shape});
}

// Adds an axis for the repetitions before each repeated axis, then merges the two.
Value tile(const Value& x, const Ints& repeats, SourceLocation where) {
  const nn::LocationScope at(x, "tile", where);
  const bool negative = std::any_of(repeats.begin(), repeats.end(), [](auto n) { return n < 0; });
  if (repeats.size() != x.shape().size() || negative) {
    nn::fail_layer("tile", "each axis needs one number of repetitions, which must not be negative",
                   "1 leaves an axis unchanged", x);
  }
  Shape repeated, shape;
  Ints axes;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] != 1) repeated.emplace_back(repeats[i]);
    axes.push_back(static_cast<std::int64_t>(repeated.size()));
    repeated.push_back(x.shape()[i]);
    shape.push_back(x.shape()[i] * Dim(repeats[i]));
  }
  return reshape(broadcast(x, {.shape = repeated, .axes = axes}), {.shape = shape});
}

Value stack(const std::vector<Value>& xs, int axis, SourceLocation where) {
  const Value& first = first_of(xs);
  const nn::LocationScope at(first, "stack", where);
  const int position = checked_axis("stack", first, axis, first.rank() + 1);
  std::vector<Value> parts;
  for (const Value& x : xs) {
    const nn::LocationScope at_this(x, "stack", where);
    if (x.shape() != first.shape() || x.dtype() != first.dtype()) {
      nn::fail_layer("stack", "the values differ: " + first.str() + ", " + x.str(),
                     "reshape or cast them to one type", x);
    }
    parts.push_back(unsqueeze(x, position, where));
  }
  return concat(parts, {.axis = position});
}

std::vector<Value> split(const Value& x, const Ints& sizes, int axis, SourceLocation where) {
  const nn::LocationScope at(x, "split", where);
  const auto position = static_cast<std::size_t>(checked_axis("split", x, axis, x.rank()));
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) nn::fail_layer("split", "a size is negative", "", x);
    total += size;
  }
  if (x.shape()[position] != Dim(total)) {
    nn::fail_layer("split",
                   "the sizes add up to " + std::to_string(total) + ", but axis " +
                       std::to_string(axis) + " has size " + x.shape()[position].str(),
                   "use slice() for a part of a symbolic axis", x);
  }
  std::vector<Value> parts;
  SliceAttrs part;
  part.starts.assign(x.shape().size(), 0);
  part.limits.assign(x.shape().size(), -1);
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    part.starts[position] = start;
    part.limits[position] = start += size;
    parts.push_back(slice(x, part));
  }
  return parts;
}

std::vector<Value> split_evenly(const Value& x, std::int64_t parts, int axis,
                                SourceLocation where) {
  const nn::LocationScope at(x, "split_evenly", where);
  const Dim& size = x.dim(checked_axis("split_evenly", x, axis, x.rank()));
  if (parts < 1 || !size.is_constant() || size.constant() % parts != 0) {
    nn::fail_layer("split_evenly",
                   "axis " + std::to_string(axis) + " of size " + size.str() +
                       " cannot be split into " + std::to_string(parts) + " equal parts",
                   "give the sizes: split(x, {3, 2}, axis)", x);
  }
  return split(x, Ints(static_cast<std::size_t>(parts), size.constant() / parts), axis, where);
}

Value clamp(const Value& x, double low, double high, SourceLocation where) {
  const nn::LocationScope at(x, "clamp", where);
  if (!(low <= high)) {
    nn::fail_layer("clamp", "low must not be above high, and neither may be NaN", "", x);
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Value y = low == -kInfinity ? x : maximum(x, low);
  return high == kInfinity ? y : minimum(y, high);
}

// The root of the inner where() is never of 0, where its gradient is infinite.
Value norm(const Value& x, const NormOptions& options, SourceLocation where) {
  const nn::LocationScope at(x, "norm", where);
  if (!is_arithmetic_float(x.dtype())) nn::fail_layer("norm", "x must be f32 or f64", "", x);
  const Value wide = x.dtype() == f64 ? x : cast(x, {.dtype = f64});
  const Value squares = sum(wide * wide, {.axes = options.axes, .keep = options.keep});
  const Value is_zero = trireme::equal(squares, 0.0);
  const Value root = sqrt(trireme::where(is_zero, 1.0, squares));
  const Value result = trireme::where(is_zero, 0.0, root);
  return x.dtype() == f64 ? result : cast(result, {.dtype = x.dtype()});
}

Value one_hot(const Value& labels, std::int64_t depth, DType dtype, SourceLocation where) {
  nn::LocationScope at(labels, "one_hot", where);
  if (!is_integer(labels.dtype())) {
    nn::fail_layer("one_hot", "labels must be integers", "cast them to i64", labels);
  }
  if (depth < 1) nn::fail_layer("one_hot", "depth must be at least 1", "", labels);
  const Value classes =
      at.make("iota", {{"axis", std::int64_t{0}}, {"dtype", DType::i64}, {"shape", Shape{depth}}});
  const Value wide = cast(labels, {.dtype = DType::i64});
  return cast(equal(unsqueeze(wide, -1, where), classes), {.dtype = dtype});
}

}  // namespace trireme
