// Operators that read and write elements by index.

#include <algorithm>
#include <numeric>
#include <utility>

#include "onnx/importer.h"
#include "onnx/ops/operators.h"
#include "onnx/ops/slices.h"
#include "trireme/functions.h"
#include "trireme/indexing.h"
#include "trireme/numeric.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Value size_of_axis(const Value& x, int axis) { return dim_size(x, {.axes = {axis}, .dtype = i64}); }

// Indices as i64 from 0: those below 0 count from the end of an axis.
Value from_start(const Value& indices, const Value& size) {
  const Value wide = indices.dtype() == i64 ? indices : cast(indices, {.dtype = i64});
  return where(less(wide, 0.0), wide + size, wide);
}

// Calls `f` with x in a dtype that library kernels take, and converts the result back.
template <class F>
Value in_common_dtype(const Value& x, const F& f) {
  const DType dtype = x.dtype();
  const bool common = is_arithmetic_float(dtype) || dtype == i32 || dtype == i64 || dtype == u8;
  if (common) return f(x);
  const DType wide = is_float(dtype) ? f32 : i64;
  return cast(f(cast(x, {.dtype = wide})), {.dtype = dtype});
}

// --- Reading -----------------------------------------------------------------------------------

void import_gather(NodeContext& n) {
  const Value x = n.value(0);
  const int axis = n.axis(n.integer("axis", 0), x.rank());
  const Value indices = from_start(n.value(1), size_of_axis(x, axis));
  n.set(0, gather(x, indices, {.axis = axis}));
}

bool gather_sizes(NodeContext& n) {
  const Item& indices = n.item(1);
  if (n.rank(0) != 1 || !indices.known || indices.known->rank() > 1) return false;
  const Shape dims = n.sizes(0, "");
  const auto size = static_cast<std::int64_t>(dims.size());
  Shape result;
  for (std::int64_t i : n.known_integers(1, "")) {
    n.require(i >= -size && i < size, "its index " + std::to_string(i) + " is outside of " +
                                          std::to_string(size) + " elements");
    result.push_back(dims[static_cast<std::size_t>(i < 0 ? i + size : i)]);
  }
  n.set_sizes(0, std::move(result), indices.known->rank() == 0, n.type(0));
  return true;
}

void import_gather_elements(NodeContext& n) {
  Value x = n.value(0);
  const Value given = n.value(1);
  const int axis = n.axis(n.integer("axis", 0), x.rank());
  const Value indices = from_start(given, size_of_axis(x, axis));
  for (int i = 0; i < x.rank(); ++i) {  // other axes of the indices may be shorter
    if (i != axis && !(x.dim(i) == indices.dim(i))) x = part_of(x, i, 0, indices.dim(i));
  }
  n.set(0, take_along_axis(x, indices, {.axis = axis}));
}

// The sizes of the first axes of x as i64[count].
Value leading_sizes(const Value& x, std::int64_t first, std::int64_t count) {
  std::vector<Value> sizes;
  for (std::int64_t i = first; i < first + count; ++i) {
    sizes.push_back(reshape(size_of_axis(x, static_cast<int>(i)), {.shape = {1}}));
  }
  return sizes.size() == 1 ? sizes[0] : concat(sizes, {.axis = 0});
}

std::int64_t tuple_size(const NodeContext& n, const Value& indices) {
  n.require(indices.rank() > 0 && indices.dim(-1).is_constant(),
            "its indices " + indices.str() + " have no last axis of constant size");
  return indices.dim(-1).constant();
}

// With batch axes, the indices get those of the batch in front.
void import_gather_nd(NodeContext& n) {
  const Value x = n.value(0);
  Value indices = n.value(1);
  const std::int64_t batch = n.integer("batch_dims", 0);
  const std::int64_t count = tuple_size(n, indices);
  indices = from_start(indices, leading_sizes(x, batch, count));
  std::vector<Value> parts;
  Shape one = indices.shape();
  one.back() = Dim(1);
  for (std::int64_t i = 0; i < batch; ++i) {
    parts.push_back(iota(n.program(), {.shape = one, .axis = i}));
  }
  parts.push_back(indices);
  n.set(0, gather_nd(x, batch == 0 ? indices : concat(parts, {.axis = -1})));
}

void import_one_hot(NodeContext& n) {
  const Value given = n.value(0);
  const auto depth = static_cast<std::int64_t>(n.known_number(1, "the number of classes"));
  const Value values = n.value(2);
  const int axis = n.axis(n.integer("axis", -1), given.rank() + 1);
  const Value whole = cast(given, {.dtype = i64});
  const Value labels =
      unsqueeze(where(less(whole, 0.0), whole + static_cast<double>(depth), whole), axis);
  Shape shape = given.shape();
  shape.insert(shape.begin() + axis, Dim(depth));
  const Value at = iota(n.program(), {.shape = shape, .axis = axis});
  const auto value = [&](std::int64_t i) {
    return reshape(part_of(values, 0, i, i + 1), {.shape = {}});
  };
  n.set(0, where(equal(at, labels), value(1), value(0)));
}

// --- Writing -----------------------------------------------------------------------------------

using Combine = Value (*)(const Value& old, const Value& update);

Combine combination(const NodeContext& n) {
  const std::string reduction = n.text("reduction", "none");
  if (reduction == "none") return [](const Value&, const Value& update) { return update; };
  if (reduction == "add") return [](const Value& a, const Value& b) { return a + b; };
  if (reduction == "mul") return [](const Value& a, const Value& b) { return a * b; };
  if (reduction == "max") return [](const Value& a, const Value& b) { return maximum(a, b); };
  if (reduction == "min") return [](const Value& a, const Value& b) { return minimum(a, b); };
  n.fail("its reduction is \"" + reduction + "\"");
}

// x with the updates combined where `written`, an i64 count of updates, is not 0.
Value combined(const Value& x, const Value& updates, const Value& written, Combine combine) {
  return where(written >= 1.0, combine(x, updates), x);
}

// Updates of one index along the axis touch different elements, so those of all indices are applied
// one after another if some may meet.
void import_scatter_elements(NodeContext& n) {
  Value x = n.value(0);
  const Value updates = n.value(2);
  const int axis = n.axis(n.integer("axis", 0), x.rank());
  const Value indices = from_start(n.value(1), size_of_axis(x, axis));
  const Combine combine = combination(n);
  const auto spread = [&](const Value& places, const Value& numbers) {
    Value result = scatter_add_along_axis(places, numbers, {.size = {x.dim(axis)}, .axis = axis});
    Shape low(static_cast<std::size_t>(x.rank()), Dim(0)), high = low;
    for (int i = 0; i < x.rank(); ++i) high[static_cast<std::size_t>(i)] = x.dim(i) - result.dim(i);
    return pad(result, {.low = low, .high = high});
  };
  const auto apply = [&](const Value& places, const Value& numbers) {
    const Value written = spread(places, full_like(places, 1));
    x = combined(x, in_common_dtype(numbers, [&](const Value& v) { return spread(places, v); }),
                 written, combine);
  };
  const Dim& steps = indices.dim(axis);
  if (n.text("reduction", "none") == "add")
    return n.set(0,
                 x + in_common_dtype(updates, [&](const Value& v) { return spread(indices, v); }));
  n.require(
      steps.is_constant() && steps.constant() <= 1024,
      "it writes at " + steps.str() + " indices of an axis one after another; 1,024 are possible");
  for (std::int64_t i = 0; i < steps.constant(); ++i) {
    apply(part_of(indices, axis, i, i + 1), part_of(updates, axis, i, i + 1));
  }
  n.set(0, x);
}

void import_scatter_nd(NodeContext& n) {
  Value x = n.value(0);
  Value indices = n.value(1);
  const Value updates = n.value(2);
  const std::int64_t count = tuple_size(n, indices);
  indices = from_start(indices, leading_sizes(x, 0, count));
  const Combine combine = combination(n);
  const auto spread = [&](const Value& places, const Value& numbers) {
    return in_common_dtype(
        numbers, [&](const Value& v) { return scatter_add_nd(places, v, {.shape = x.shape()}); });
  };
  if (n.text("reduction", "none") == "add") return n.set(0, x + spread(indices, updates));
  const Dim tuples = product(Shape(indices.shape().begin(), indices.shape().end() - 1));
  const Shape row(updates.shape().begin() + indices.rank() - 1, updates.shape().end());
  Shape flat = row;
  flat.insert(flat.begin(), tuples);
  const Value places = reshape(indices, {.shape = {tuples, count}});
  const Value rows = reshape(updates, {.shape = flat});
  n.require(tuples.is_constant() && tuples.constant() <= 1024,
            "it writes " + tuples.str() + " parts one after another; 1,024 are possible");
  for (std::int64_t i = 0; i < tuples.constant(); ++i) {
    const Value place = part_of(places, 0, i, i + 1), update = part_of(rows, 0, i, i + 1);
    const Value written =
        scatter_add_nd(place, full_like(cast(update, {.dtype = i64}), 1), {.shape = x.shape()});
    x = combined(x, spread(place, update), written, combine);
  }
  n.set(0, x);
}

// --- Order -------------------------------------------------------------------------------------

void import_top_k(NodeContext& n) {
  const Value x = n.value(0);
  const std::int64_t k =
      n.version() < 10 ? n.integer("k")
                       : static_cast<std::int64_t>(n.known_number(1, "the number of elements"));
  const int axis = n.axis(n.integer("axis", -1), x.rank());
  const bool largest = n.integer("largest", 1) != 0;
  const DType dtype = x.dtype();
  const bool common = is_arithmetic_float(dtype) || dtype == i32 || dtype == i64 || dtype == u8;
  const Value keys = common ? x : cast(x, {.dtype = is_float(dtype) ? f32 : i64});
  const Value places = argsort(keys, {.axis = axis, .descending = largest});
  const Value first = part_of(places, axis, 0, k);
  n.set(0, take_along_axis(x, first, {.axis = axis}));
  n.set(1, first);
}

// Element i of a sequence moves to length - 1 - i; those after it stay.
void import_reverse_sequence(NodeContext& n) {
  const Value x = n.value(0), lengths = n.value(1);
  const int batch_axis = n.axis(n.integer("batch_axis", 1), x.rank());
  const int time_axis = n.axis(n.integer("time_axis", 0), x.rank());
  Shape shape(static_cast<std::size_t>(x.rank()), Dim(1));
  shape[static_cast<std::size_t>(batch_axis)] = x.dim(batch_axis);
  const Value length = reshape(cast(lengths, {.dtype = i64}), {.shape = shape});
  const Value at = iota(n.program(), {.shape = x.shape(), .axis = time_axis});
  n.set(0, take_along_axis(x, where(less(at, length), length - 1.0 - at, at), {.axis = time_axis}));
}

constexpr Operator kIndexingOperators[] = {
    {"", "Gather", import_gather, {.widens = false, .on_sizes = gather_sizes}},
    {"", "GatherElements", import_gather_elements, {.widens = false}},
    {"", "GatherND", import_gather_nd, {.widens = false}},
    {"", "OneHot", import_one_hot, {.widens = false}},
    {"", "ReverseSequence", import_reverse_sequence, {.widens = false}},
    {"", "Scatter", import_scatter_elements},
    {"", "ScatterElements", import_scatter_elements},
    {"", "ScatterND", import_scatter_nd},
    {"", "TopK", import_top_k, {.widens = false}},
};

}  // namespace

Operators index_operators() { return kIndexingOperators; }

}  // namespace trireme::onnx
