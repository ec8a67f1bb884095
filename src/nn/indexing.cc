#include "trireme/indexing.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "nn/axes.h"
#include "trireme/functions.h"

namespace trireme {
namespace {

using Ints = std::vector<std::int64_t>;

// Selects from the axes of x from left to right; `axis` is the next one.
class Indexing {
 public:
  explicit Indexing(const Value& x) : x_(x), y_(x) {}

  Value apply(const std::vector<IndexItem>& items) {
    const std::size_t rest = whole_axes(items);
    for (const IndexItem& item : items) {
      if (std::holds_alternative<Ellipsis>(item.item())) {
        axis_ += rest;
      } else {
        std::visit([&](const auto& selected) { select(selected); }, item.item());
      }
    }
    return y_;
  }

 private:
  // Returns how many axes no item selects from.
  std::size_t whole_axes(const std::vector<IndexItem>& items) const {
    std::size_t used = 0, ellipses = 0, values = 0;
    for (const IndexItem& item : items) {
      const bool is_ellipsis = std::holds_alternative<Ellipsis>(item.item());
      ellipses += is_ellipsis ? 1 : 0;
      values += std::holds_alternative<Value>(item.item()) ? 1 : 0;
      used += is_ellipsis || std::holds_alternative<NewAxis>(item.item()) ? 0 : 1;
    }
    if (ellipses > 1) nn::fail_layer("index", "more than one ellipsis", "", x_);
    if (values > 1) {
      nn::fail_layer("index", "more than one item is a Value",
                     "gather_nd() selects by several indices", x_);
    }
    if (used > x_.shape().size()) {
      nn::fail_layer("index",
                     std::to_string(used) + " items for " + std::to_string(x_.rank()) + " axes", "",
                     x_);
    }
    return x_.shape().size() - used;
  }

  const Dim& size() const { return y_.shape()[axis_]; }

  Value sliced(const Dim& start, const Dim& limit, std::int64_t stride) const {
    SliceAttrs part;
    part.starts.assign(y_.shape().size(), 0);
    part.limits.assign(y_.shape().size(), -1);
    part.starts[axis_] = start;
    part.limits[axis_] = limit;
    if (stride != 1) {
      part.strides.assign(y_.shape().size(), 1);
      part.strides[axis_] = stride;
    }
    return slice(y_, part);
  }

  void select(Ellipsis) {}

  void select(NewAxis) {
    y_ = unsqueeze(y_, static_cast<int>(axis_));
    ++axis_;
  }

  void select(std::int64_t place) {
    if (!size().is_constant()) {
      const auto axis = static_cast<std::int64_t>(axis_);
      const Value count = dim_size(y_, {.axes = {axis}, .dtype = DType::i64});
      const double number = static_cast<double>(place);
      const Value row = place < 0 ? count + number : count * 0.0 + number;
      y_ = gather(y_, row, {.axis = axis});
      return;
    }
    const std::int64_t n = size().constant();
    if (place < -n || place >= n) {
      nn::fail_layer("index",
                     "index " + std::to_string(place) + " is outside of axis " +
                         std::to_string(axis_) + " of " + str(y_.shape()),
                     "negative indices count from the end", x_);
    }
    const std::int64_t from_start = place < 0 ? place + n : place;
    y_ = squeeze(sliced(from_start, from_start + 1, 1), {static_cast<std::int64_t>(axis_)});
  }

  void select(const Value& indices) {
    if (!indices) nn::fail_layer("index", "an item is an empty Value", "", x_);
    if (!is_integer(indices.dtype())) {
      nn::fail_layer("index", "indices must be integers, not " + indices.str(),
                     "a part selected by booleans has no fixed size: use where(), or filter() of "
                     "trireme/sequence.h",
                     x_);
    }
    const auto axis = static_cast<std::int64_t>(axis_);
    const Value wide =
        indices.dtype() == DType::i64 ? indices : cast(indices, {.dtype = DType::i64});
    const Value count = dim_size(y_, {.axes = {axis}, .dtype = DType::i64});
    const Value place = where(wide < 0.0, wide + count, wide);
    y_ = gather(y_, place, {.axis = axis});
    axis_ += indices.shape().size();
  }

  void select(const IndexRange& range) {
    if (range.step == 0) nn::fail_layer("index", "the step of a range is 0", "", x_);
    if (size().is_constant() && is_number(range.start) && is_number(range.stop)) {
      select_numbers(range);
    } else {
      select_symbols(range);
    }
    ++axis_;
  }

  static bool is_number(const std::optional<Dim>& bound) { return !bound || bound->is_constant(); }

  // Returns a bound as an index in [low, high], as Python does.
  static std::int64_t bound(const std::optional<Dim>& given, std::int64_t otherwise, std::int64_t n,
                            std::int64_t low, std::int64_t high) {
    if (!given) return otherwise;
    const std::int64_t place = given->constant();
    return std::clamp(place < 0 ? place + n : place, low, high);
  }

  void select_numbers(const IndexRange& range) {
    const std::int64_t n = size().constant();
    if (range.step > 0) {
      const std::int64_t start = bound(range.start, 0, n, 0, n);
      const std::int64_t stop = bound(range.stop, n, n, start, n);
      y_ = sliced(start, stop, range.step);
      return;
    }
    // From the last selected element to the first, then reversed.
    const std::int64_t first = bound(range.start, n - 1, n, -1, n - 1);
    const std::int64_t end = bound(range.stop, -1, n, -1, n - 1);
    if (first <= end) {
      y_ = sliced(0, 0, 1);
      return;
    }
    const std::int64_t step = std::max(range.step, -n);  // no larger one differs
    const std::int64_t last = first + (first - end - 1) / -step * step;
    y_ = reversed(sliced(last, first + 1, -step));
  }

  Value reversed(const Value& y) const {
    return flip(y, {.axes = {static_cast<std::int64_t>(axis_)}});
  }

  Dim from_start(const Dim& place) const {
    return place.is_constant() && place.constant() < 0 ? size() + place : place;
  }

  void select_symbols(const IndexRange& range) {
    if (range.step < 0) {
      if (range.start || range.stop) {
        nn::fail_layer("index",
                       "a range of axis " + std::to_string(axis_) +
                           " of symbolic size has bounds and a negative step",
                       "select with a positive step first, then flip()", x_);
      }
      y_ = reversed(y_);
      if (range.step != -1) y_ = sliced(0, size(), -range.step);
      return;
    }
    y_ = sliced(range.start ? from_start(*range.start) : Dim(0),
                range.stop ? from_start(*range.stop) : size(), range.step);
  }

  Value x_, y_;
  std::size_t axis_ = 0;
};

// Returns iota along one of two axes of a matrix.
Value numbers(nn::LocationScope& at, const Shape& shape, std::int64_t axis) {
  return at.make("iota", {{"axis", axis}, {"dtype", DType::i64}, {"shape", shape}});
}

void require_matrix(const char* what, const Value& x) {
  if (x.rank() < 2) {
    nn::fail_layer(what, "x must be a matrix or a stack of matrices [..., m, n]", "", x);
  }
}

// Returns x where `mask` is true and zeros elsewhere.
Value masked(const Value& mask, const Value& x) {
  return x.dtype() == DType::boolean ? logical_and(mask, x) : where(mask, x, 0.0);
}

// Whether an element of the last two axes is on diagonal k or below.
Value at_most_diagonal(nn::LocationScope& at, const Value& x, std::int64_t k) {
  const Shape matrix(x.shape().end() - 2, x.shape().end());
  return numbers(at, matrix, 1) <= numbers(at, matrix, 0) + static_cast<double>(k);
}

}  // namespace

Value index(const Value& x, const std::vector<IndexItem>& items, SourceLocation where) {
  const nn::LocationScope at(x, "index", where);
  return Indexing(x).apply(items);
}

Value roll(const Value& x, std::int64_t shift, int axis, SourceLocation where) {
  nn::LocationScope at(x, "roll", where);
  const std::size_t place = nn::axis_in("roll", x, axis);
  const Dim& size = x.shape()[place];
  const auto along = static_cast<std::int64_t>(place);
  if (!size.is_constant()) {
    const Value count = dim_size(x, {.axes = {along}, .dtype = DType::i64});
    const Value moved = numbers(at, {size}, 0) - static_cast<double>(shift);
    return gather(x, floor_mod(moved, count), {.axis = along});
  }
  const std::int64_t n = size.constant();
  const std::int64_t forward = n == 0 ? 0 : (shift % n + n) % n;
  if (forward == 0) return x;
  const auto parts = split(x, {n - forward, forward}, static_cast<int>(place));
  return concat({parts[1], parts[0]}, {.axis = along});
}

Value repeat_interleave(const Value& x, std::int64_t repeats, int axis, SourceLocation where) {
  const nn::LocationScope at(x, "repeat_interleave", where);
  const std::size_t place = nn::axis_in("repeat_interleave", x, axis);
  if (repeats < 0) nn::fail_layer("repeat_interleave", "repeats must not be negative", "", x);
  Shape repeated = x.shape(), shape = x.shape();
  repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(place) + 1, Dim(repeats));
  shape[place] = shape[place] * Dim(repeats);
  Ints axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i <= place ? i : i + 1));
  }
  return reshape(broadcast(x, {.shape = repeated, .axes = axes}), {.shape = shape});
}

Value broadcast_to(const Value& x, const Shape& shape, SourceLocation where) {
  const nn::LocationScope at(x, "broadcast_to", where);
  const std::size_t rank = x.shape().size();
  const auto refuse = [&] {
    nn::fail_layer("broadcast_to", "cannot broadcast to " + str(shape),
                   "from the last axis on, each size must be 1, that of the result, or missing", x);
  };
  if (rank > shape.size()) refuse();
  const std::size_t added = shape.size() - rank;
  Shape result = shape, kept;
  Ints axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i < added) {
      if (shape[i] == Dim(-1)) refuse();
      continue;
    }
    const Dim& size = x.shape()[i - added];
    if (shape[i] == Dim(-1)) result[i] = size;
    if (result[i] != size && size != Dim(1)) refuse();
    if (result[i] != size) continue;
    kept.push_back(size);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  if (axes.size() == result.size()) return x;
  const Value without = kept.size() == rank ? x : reshape(x, {.shape = kept});
  return broadcast(without, {.shape = result, .axes = axes});
}

std::vector<Value> meshgrid(const std::vector<Value>& xs, SourceLocation where) {
  if (xs.empty()) return {};
  const nn::LocationScope at(xs.front(), "meshgrid", where);
  Shape shape;
  for (const Value& x : xs) {
    const nn::LocationScope at_this(x, "meshgrid", where);
    if (x.rank() != 1) nn::fail_layer("meshgrid", "the coordinates must be vectors", "", x);
    shape.push_back(x.dim(0));
  }
  std::vector<Value> grids;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    grids.push_back(broadcast(xs[i], {.shape = shape, .axes = {static_cast<std::int64_t>(i)}}));
  }
  return grids;
}

Value tril(const Value& x, std::int64_t k, SourceLocation where) {
  nn::LocationScope at(x, "tril", where);
  require_matrix("tril", x);
  return masked(at_most_diagonal(at, x, k), x);
}

Value triu(const Value& x, std::int64_t k, SourceLocation where) {
  nn::LocationScope at(x, "triu", where);
  require_matrix("triu", x);
  return masked(logical_not(at_most_diagonal(at, x, k - 1)), x);
}

Value diagonal(const Value& x, std::int64_t k, SourceLocation where) {
  nn::LocationScope at(x, "diagonal", where);
  require_matrix("diagonal", x);
  const Dim &m = x.dim(-2), &n = x.dim(-1);
  Shape flat(x.shape().begin(), x.shape().end() - 2);
  flat.push_back(m * n);
  const std::int64_t last = x.rank() - 2;
  if (!m.is_constant() || !n.is_constant()) {
    if (m != n || k != 0) {
      nn::fail_layer("diagonal", "a matrix of symbolic size must be square, and k must be 0", "",
                     x);
    }
    const Value step = dim_size(x, {.axes = {-1}, .dtype = DType::i64}) + 1.0;
    return gather(reshape(x, {.shape = flat}), numbers(at, {n}, 0) * step, {.axis = last});
  }
  const std::int64_t rows = m.constant(), columns = n.constant();
  const std::int64_t row = std::clamp<std::int64_t>(-k, 0, rows);
  const std::int64_t column = std::clamp<std::int64_t>(k, 0, columns);
  const std::int64_t length = std::min(rows - row, columns - column);
  SliceAttrs part;
  part.starts.assign(flat.size(), 0);
  part.limits.assign(flat.size(), -1);
  part.strides.assign(flat.size(), 1);
  const std::int64_t start = length == 0 ? 0 : row * columns + column;
  part.starts.back() = start;
  part.limits.back() = length == 0 ? start : start + (length - 1) * (columns + 1) + 1;
  part.strides.back() = columns + 1;
  return slice(reshape(x, {.shape = flat}), part);
}

Value diag_embed(const Value& x, std::int64_t k, SourceLocation where) {
  nn::LocationScope at(x, "diag_embed", where);
  if (x.rank() < 1) nn::fail_layer("diag_embed", "x must have an axis", "", x);
  // Row i of the result has x[i] if k >= 0; otherwise column i has it.
  Shape low(x.shape().size(), 0), high = low;
  high.back() = std::abs(k);
  const Value padded = k == 0 ? x : pad(x, {.low = low, .high = high});
  Shape shape = padded.shape();
  shape.push_back(padded.dim(-1));
  Ints axes;
  for (int i = 0; i + 1 < x.rank(); ++i) axes.push_back(i);
  axes.push_back(k >= 0 ? x.rank() - 1 : x.rank());
  const Shape matrix(shape.end() - 2, shape.end());
  const Value mask =
      trireme::equal(numbers(at, matrix, 0) + static_cast<double>(k), numbers(at, matrix, 1));
  return masked(mask, broadcast(padded, {.shape = shape, .axes = axes}));
}

Value diag(const Value& x, std::int64_t k, SourceLocation where) {
  const nn::LocationScope at(x, "diag", where);
  if (x.rank() == 1) return diag_embed(x, k);
  if (x.rank() == 2) return diagonal(x, k);
  nn::fail_layer("diag", "x must be a vector or a matrix",
                 "diag_embed() and diagonal() accept stacks of them", x);
}

Value trace(const Value& x, SourceLocation where) {
  const nn::LocationScope at(x, "trace", where);
  return sum(diagonal(x), {.axes = {-1}});
}

Value eye(const Program& program, const Dim& n, std::optional<Dim> m, DType dtype,
          SourceLocation where) {
  const Shape shape{n, m.value_or(n)};
  const Value rows = iota(program, {.shape = shape, .axis = 0}, where);
  const Value columns = iota(program, {.shape = shape, .axis = 1}, where);
  const Value same = trireme::equal({rows, where}, {columns, where}, where);
  return dtype == DType::boolean ? same : cast(same, {.dtype = dtype}, where);
}

Value arange(const Program& program, const Dim& n, DType dtype, SourceLocation where) {
  return iota(program, {.shape = {n}, .axis = 0, .dtype = dtype}, where);
}

Value arange(const Program& program, double start, double stop, double step, DType dtype,
             SourceLocation where) {
  const double steps = std::ceil((stop - start) / step);
  if (step == 0 || !(std::abs(steps) <= 0x1p53)) {
    fail_usage("arange: the number of elements from " + std::to_string(start) + " to " +
               std::to_string(stop) + " in steps of " + std::to_string(step) + " is not finite");
  }
  const auto count = static_cast<std::int64_t>(std::max(steps, 0.0));
  const Value places = iota(program, {.shape = {count}, .axis = 0, .dtype = DType::f64}, where);
  const nn::LocationScope at(places, "arange", where);
  const Value result = places * step + start;
  return dtype == DType::f64 ? result : cast(result, {.dtype = dtype});
}

Value linspace(const Program& program, double start, double stop, std::int64_t n, DType dtype,
               SourceLocation where) {
  if (n < 0) fail_usage("linspace: the number of elements must not be negative");
  const Value places = iota(program, {.shape = {n}, .axis = 0, .dtype = DType::f64}, where);
  const nn::LocationScope at(places, "linspace", where);
  const auto last = static_cast<double>(std::max<std::int64_t>(n - 1, 1));
  const double step = stop / last - start / last;
  const Value from_stop = stop - (last - places) * step;
  const Value result = n == 1 ? places + start
                              : trireme::where(places * 2.0 < static_cast<double>(n),
                                               places * step + start, from_stop);
  return dtype == DType::f64 ? result : cast(result, {.dtype = dtype});
}

}  // namespace trireme
