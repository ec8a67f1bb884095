// Reductions, and cumulative sums and products.

#include <numeric>
#include <utility>

#include "onnx/ops/operators.h"
#include "trireme/functions.h"
#include "trireme/numeric.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

using Integers = std::vector<std::int64_t>;
using Reduce = Value (*)(const Value& x, const Integers& axes, bool keep);

// Axes are an attribute before version 18 (13 for ReduceSum), an input since. Without axes, all are
// reduced, or none if noop_with_empty_axes.
template <Reduce reduce>
void reduction(NodeContext& n) {
  const Value x = n.value(0);
  Integers axes;
  if (n.attribute("axes") != nullptr) axes = n.integers("axes");
  else if (n.has(1)) axes = n.known_integers(1, "the axes");
  if (axes.empty()) {
    if (n.integer("noop_with_empty_axes", 0) != 0)
      return n.set(0, reduce(unsqueeze(x, x.rank()), {x.rank()}, false));
    axes.resize(static_cast<std::size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (x.rank() == 0)
    return n.set(0, reshape(reduce(reshape(x, {.shape = {1}}), {0}, false), {.shape = {}}));
  n.set(0, reduce(x, n.axes(axes, x.rank()), n.integer("keepdims", 1) != 0));
}

Value sum_of(const Value& x, const Integers& axes, bool keep) {
  return sum(x, {.axes = axes, .keep = keep});
}
Value l1_of(const Value& x, const Integers& axes, bool keep) { return sum_of(abs(x), axes, keep); }
Value sum_of_squares(const Value& x, const Integers& axes, bool keep) {
  return sum_of(x * x, axes, keep);
}
Value l2_of(const Value& x, const Integers& axes, bool keep) {
  if (is_arithmetic_float(x.dtype())) return norm(x, {.axes = axes, .keep = keep});
  return cast(norm(cast(x, {.dtype = f64}), {.axes = axes, .keep = keep}), {.dtype = x.dtype()});
}
Value log_sum_of(const Value& x, const Integers& axes, bool keep) {
  return log(sum_of(x, axes, keep));
}
Value log_sum_exp_of(const Value& x, const Integers& axes, bool keep) {
  return logsumexp(x, {.axes = axes, .keep = keep});
}
Value average_of(const Value& x, const Integers& axes, bool keep) {
  if (is_arithmetic_float(x.dtype())) return mean(x, {.axes = axes, .keep = keep});
  return cast(mean(cast(x, {.dtype = f64}), {.axes = axes, .keep = keep}), {.dtype = x.dtype()});
}
Value product_of(const Value& x, const Integers& axes, bool keep) {
  return prod(x, {.axes = axes, .keep = keep});
}
Value max_of(const Value& x, const Integers& axes, bool keep) {
  if (x.dtype() == boolean) return any(x, {.axes = axes, .keep = keep});
  return reduce_max(x, {.axes = axes, .keep = keep});
}
Value min_of(const Value& x, const Integers& axes, bool keep) {
  if (x.dtype() == boolean) return all(x, {.axes = axes, .keep = keep});
  return reduce_min(x, {.axes = axes, .keep = keep});
}

bool product_of_sizes(NodeContext& n) {
  n.set_sizes(0, {product(n.sizes(0, ""))}, n.integer("keepdims", 1) == 0, n.type(0));
  return true;
}

template <bool largest>
void import_arg(NodeContext& n) {
  Value x = n.value(0);
  const int axis = n.axis(n.integer("axis", 0), x.rank());
  const bool keep = n.integer("keepdims", 1) != 0;
  const bool last = n.integer("select_last_index", 0) != 0;
  if (last) x = flip(x, {.axes = {axis}});
  Value place = largest ? argmax(x, {.axes = {axis}, .keep = keep})
                        : argmin(x, {.axes = {axis}, .keep = keep});
  if (last) place = dim_size(x, {.axes = {axis}, .dtype = i64}) - 1.0 - place;
  n.set(0, place);
}

void import_cumsum(NodeContext& n) {
  const Value x = n.value(0);
  const int axis = n.axis(static_cast<std::int64_t>(n.known_number(1, "the axis")), x.rank());
  n.set(0, cumsum(x, {.axis = axis,
                      .exclusive = n.integer("exclusive", 0) != 0,
                      .reverse = n.integer("reverse", 0) != 0}));
}

// The product without the element itself begins with 1 and leaves the last out.
void import_cumprod(NodeContext& n) {
  Value x = n.value(0);
  const int axis = n.axis(static_cast<std::int64_t>(n.known_number(1, "the axis")), x.rank());
  const bool reverse = n.integer("reverse", 0) != 0;
  if (reverse) x = flip(x, {.axes = {axis}});
  if (n.integer("exclusive", 0) != 0) {
    Shape low(static_cast<std::size_t>(x.rank()), Dim(0)), limits = x.shape();
    low[static_cast<std::size_t>(axis)] = 1;
    const Shape none(low.size(), Dim(0));
    x = slice(pad(x, {.low = low, .high = none, .value = 1}), {.starts = none, .limits = limits});
  }
  const Value result = cumprod(x, axis);
  n.set(0, reverse ? flip(result, {.axes = {axis}}) : result);
}

constexpr Operator kReductionsOperators[] = {
    {"", "ArgMax", import_arg<true>},
    {"", "ArgMin", import_arg<false>},
    {"", "CumProd", import_cumprod},
    {"", "CumSum", import_cumsum},
    {"", "ReduceL1", reduction<l1_of>},
    {"", "ReduceL2", reduction<l2_of>},
    {"", "ReduceLogSum", reduction<log_sum_of>},
    {"", "ReduceLogSumExp", reduction<log_sum_exp_of>},
    {"", "ReduceMax", reduction<max_of>},
    {"", "ReduceMean", reduction<average_of>},
    {"", "ReduceMin", reduction<min_of>},
    {"", "ReduceProd", reduction<product_of>, {.on_sizes = product_of_sizes}},
    {"", "ReduceSum", reduction<sum_of>},
    {"", "ReduceSumSquare", reduction<sum_of_squares>},
};

}  // namespace

Operators reduction_operators() { return kReductionsOperators; }

}  // namespace trireme::onnx
