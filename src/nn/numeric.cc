#include "trireme/numeric.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>

#include "nn/axes.h"
#include "trireme/indexing.h"

namespace trireme {
namespace {

using Ints = std::vector<std::int64_t>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void require_float(const char* what, const Value& x) {
  if (is_arithmetic_float(x.dtype())) return;
  nn::fail_layer(what, "x must be f32 or f64", "cast it: cast(x, f32)", x);
}

// Returns the root, with gradient 0 where x is 0: the inner where() is never of 0.
Value root(const Value& x) {
  const Value is_zero = equal(x, 0.0);
  return where(is_zero, 0.0, sqrt(where(is_zero, 1.0, x)));
}

// Returns a result that was computed with axes of size 1, with or without them.
Value with_axes(const Value& kept, const Value& x, const NormOptions& options) {
  if (options.keep) return kept;
  Shape shape;
  std::vector<bool> dropped(x.shape().size(), options.axes.empty());
  for (const std::int64_t axis : options.axes) {
    dropped[static_cast<std::size_t>(axis < 0 ? axis + x.rank() : axis)] = true;
  }
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    if (!dropped[i]) shape.push_back(x.shape()[i]);
  }
  return reshape(kept, {.shape = shape});
}

// The Value among operands, for the location of errors; empty if all are numbers.
Value first_value(std::initializer_list<Operand> operands) {
  for (const Operand& operand : operands) {
    if (!operand.is_number()) return operand.value();
  }
  return {};
}

// Whether a is smaller than b if NaN is the largest number.
Value is_below(const Value& a, const Value& b) {
  if (is_integer(a.dtype())) return a < b;
  return logical_or(a < b, logical_and(is_nan(b), logical_not(is_nan(a))));
}

}  // namespace

Value variance(const Value& x, const VarianceOptions& options, SourceLocation where) {
  const nn::LocationScope at(x, "variance", where);
  require_float("variance", x);
  const Value distance = x - mean(x, {.axes = options.axes, .keep = true});
  const Value total = sum(distance * distance, {.axes = options.axes, .keep = options.keep});
  const Value count = dim_size(x, {.axes = options.axes, .dtype = x.dtype()});
  const Value divisor = options.ddof == 0 ? count : count - options.ddof;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return total / trireme::where(divisor <= 0.0, nan, divisor);
}

Value stddev(const Value& x, const VarianceOptions& options, SourceLocation where) {
  const nn::LocationScope at(x, "stddev", where);
  require_float("stddev", x);
  return root(variance(x, options));
}

// A maximum that is not finite is the result itself.
Value logsumexp(const Value& x, const NormOptions& options, SourceLocation where) {
  const nn::LocationScope at(x, "logsumexp", where);
  require_float("logsumexp", x);
  const Value top = stop_gradient(reduce_max(x, {.axes = options.axes, .keep = true}));
  const Value finite = is_finite(top);
  const Value shift = trireme::where(finite, top, 0.0);
  const Value shifted = trireme::where(finite, x - shift, 0.0);
  const Value total = sum(exp(shifted), {.axes = options.axes, .keep = true});
  const Value result = log(trireme::where(finite, total, 1.0)) + shift;
  return with_axes(trireme::where(finite, result, top), x, options);
}

Value vector_norm(const Value& x, double p, const NormOptions& options, SourceLocation where) {
  const nn::LocationScope at(x, "vector_norm", where);
  require_float("vector_norm", x);
  if (std::isnan(p) || (p < 0 && p != -kInfinity)) {
    nn::fail_layer("vector_norm", "p must be at least 0, or -infinity", "", x);
  }
  const Ints& axes = options.axes;
  if (p == 2) return norm(x, options);
  if (p == kInfinity) {  // the maximum of no elements is -infinity
    return maximum(reduce_max(abs(x), {.axes = axes, .keep = options.keep}), 0.0);
  }
  if (p == -kInfinity) return reduce_min(abs(x), {.axes = axes, .keep = options.keep});
  if (p == 1) return sum(abs(x), {.axes = axes, .keep = options.keep});
  if (p == 0) {
    const Value counted = cast(not_equal(x, 0.0), {.dtype = x.dtype()});
    return sum(counted, {.axes = axes, .keep = options.keep});
  }
  const Value top = stop_gradient(reduce_max(abs(x), {.axes = axes, .keep = true}));
  const Value scale = trireme::where(logical_and(is_finite(top), top > 0.0), top, 1.0);
  const Value parts = abs(x) / scale;
  // Elements that are 0 have gradient 0; for p < 1, that of the power is infinite.
  const Value is_zero = equal(parts, 0.0);
  const Value powers = trireme::where(is_zero, 0.0, pow(trireme::where(is_zero, 1.0, parts), p));
  const Value total = sum(powers, {.axes = axes, .keep = true});
  const Value none = equal(total, 0.0);
  const Value roots = pow(trireme::where(none, 1.0, total), 1 / p);
  return with_axes(trireme::where(none, 0.0, roots * scale), x, options);
}

Value cumprod(const Value& x, int axis, SourceLocation where) {
  nn::LocationScope at(x, "cumprod", where);
  const std::size_t place = nn::axis_in("cumprod", x, axis);
  if (!x.shape()[place].is_constant()) {
    nn::fail_layer("cumprod", "the axis must have a constant size", "", x);
  }
  // Factor j of product i, at axis place + 1, is x[j] for j <= i and otherwise 1.
  Shape shape = x.shape(), square(x.shape().size() + 1, 1);
  const Dim size = shape[place];
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(place), size);
  square[place] = square[place + 1] = size;
  const auto along = static_cast<std::int64_t>(place);
  const auto numbers = [&](std::int64_t of) {
    return at.make("iota", {{"axis", of}, {"dtype", DType::i64}, {"shape", square}});
  };
  const Value repeated = unsqueeze(x, static_cast<int>(place));
  const Value factors = trireme::where(numbers(along + 1) <= numbers(along), repeated, 1.0);
  return prod(factors, {.axes = {along + 1}});
}

Value searchsorted(const Value& sorted, const Value& values, bool right, SourceLocation where) {
  const nn::LocationScope at(sorted, "searchsorted", where);
  if (sorted.rank() != 1 || !values || values.dtype() != sorted.dtype() ||
      sorted.dtype() == DType::boolean) {
    nn::fail_layer("searchsorted",
                   "`sorted` must be a vector, and `values` must have its numeric dtype: " +
                       (values ? values.str() : std::string("(empty)")),
                   "", sorted);
  }
  const Value each = unsqueeze(values, -1);
  const Value before = right ? logical_not(is_below(each, sorted)) : is_below(sorted, each);
  return sum(cast(before, {.dtype = DType::i64}), {.axes = {-1}});
}

// Equal elements are neighbors when sorted; each group adds to the place of its first element.
Unique unique(const Value& x, SourceLocation where) {
  nn::LocationScope at(x, "unique", where);
  if (x.rank() != 1 || x.dtype() == DType::boolean) {
    nn::fail_layer("unique", "x must be a vector of numbers", "reshape it: reshape(x, {-1})", x);
  }
  const std::vector<Value> sorted = sort(x);
  const Value numbers =
      at.make("iota", {{"axis", std::int64_t{0}}, {"dtype", DType::i64}, {"shape", x.shape()}});
  const Value before = gather(sorted[0], numbers - 1.0);
  const Value starts = logical_or(is_below(before, sorted[0]), equal(numbers, 0.0));
  const Value group = cumsum(cast(starts, {.dtype = DType::i64})) - 1.0;
  const Value ones = Value(at.builder().constant({DType::i64, x.shape(), ""}, 1));
  Unique result;
  result.size = sum(cast(starts, {.dtype = DType::i64}));
  result.counts = scatter_add_along_axis(group, ones, {.size = {x.dim(0)}, .axis = 0});
  // The end of the last group is the number of elements; gather() then reads the last one.
  const Value first = cumsum(result.counts, {.exclusive = true});
  result.values = gather(sorted[0], first);
  result.inverse = scatter_add_along_axis(sorted[1], group, {.size = {x.dim(0)}, .axis = 0});
  return result;
}

Value is_inf(const Value& x, SourceLocation where) {
  const nn::LocationScope at(x, "is_inf", where);
  require_float("is_inf", x);
  return equal(abs(x), kInfinity);
}

Value floor_divide(Operand a, Operand b, SourceLocation where) {
  const Value any = first_value({a, b});
  const nn::LocationScope at(any, "floor_divide", where);
  const Value whole = a - floor_mod(a, b);
  if (is_integer(any.dtype())) return whole / b;
  const Value divisor = b.is_number() ? full_like(any, b.number()) : b.value();
  return stop_gradient(trireme::where(equal(divisor, 0.0), a / b, round(whole / b)));
}

Value lerp(Operand a, Operand b, Operand weight, SourceLocation where) {
  const nn::LocationScope at(first_value({a, b, weight}), "lerp", where);
  if (a.is_number() && b.is_number()) {
    return lerp(full_like(weight.value(), a.number()), b, weight, where);
  }
  const Value step = b - a;
  if (weight.is_number()) {
    const double w = weight.number();
    return w < 0.5 ? a + step * w : b - step * (1 - w);
  }
  return trireme::where(weight < 0.5, a + step * weight, b - step * (1.0 - weight));
}

// The scale cancels in the gradient.
Value hypot(Operand a, Operand b, SourceLocation where) {
  const Value any = first_value({a, b});
  const nn::LocationScope at(any, "hypot", where);
  require_float("hypot", any);
  const Value x = a.is_number() ? full_like(any, a.number()) : a.value();
  const Value y = b.is_number() ? full_like(any, b.number()) : b.value();
  const Value top = stop_gradient(maximum(abs(x), abs(y)));
  const Value scale = trireme::where(logical_and(is_finite(top), top > 0.0), top, 1.0);
  const Value u = x / scale, v = y / scale;
  const Value result = root(u * u + v * v) * scale;
  return trireme::where(logical_or(is_inf(x), is_inf(y)), kInfinity, result);
}

Value logaddexp(Operand a, Operand b, SourceLocation where) {
  const Value any = first_value({a, b});
  const nn::LocationScope at(any, "logaddexp", where);
  require_float("logaddexp", any);
  const Value x = a.is_number() ? full_like(any, a.number()) : a.value();
  const Value y = b.is_number() ? full_like(any, b.number()) : b.value();
  // Equal infinities have no difference.
  const Value same = logical_and(equal(x, y), is_inf(x));
  const Value difference = trireme::where(same, 0.0, y - x);
  const Value result =
      trireme::where(y <= x, x + log1p_exp(difference), y + log1p_exp(-difference));
  return trireme::where(same, x, result);
}

}  // namespace trireme
