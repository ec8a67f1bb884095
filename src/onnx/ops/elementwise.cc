// Arithmetic, comparisons and bits, element by element.

#include <limits>
#include <string>

#include "onnx/ops/operators.h"
#include "onnx/ops/sizes.h"
#include "trireme/functions.h"
#include "trireme/numeric.h"
#include "trireme/ops.h"

namespace trireme::onnx {
namespace {

template <auto function>
void unary(NodeContext& n) {
  n.set(0, function(n.value(0), SourceLocation()));
}

template <auto function>
void binary(NodeContext& n) {
  n.set(0, function(n.value(0), n.value(1), SourceLocation()));
}

// Of any number of inputs, from left to right.
template <auto function>
void folded(NodeContext& n) {
  Value result = n.value(0);
  for (std::size_t i = 1; i < n.inputs(); ++i)
    result = function(result, n.value(i), SourceLocation());
  n.set(0, result);
}

Value exp_of(const Value& x) { return exp(x); }

// --- Functions that are composed ---------------------------------------------------------------

Value acos_of(const Value& x, SourceLocation) { return atan2(sqrt((1.0 - x) * (1.0 + x)), x); }
Value asin_of(const Value& x, SourceLocation) { return atan2(x, sqrt((1.0 - x) * (1.0 + x))); }
Value atanh_of(const Value& x, SourceLocation) { return (log1p(x) - log1p(-x)) * 0.5; }
// From x - 1, so that no digits are lost near 1.
Value acosh_of(const Value& x, SourceLocation) {
  const Value above = x - 1.0;
  return log1p(above + sqrt(above * (above + 2.0)));
}
Value asinh_of(const Value& x, SourceLocation) {
  const Value size = abs(x);
  const Value square = size * size;
  return sign(x) * log1p(size + square / (sqrt(square + 1.0) + 1.0));
}
Value cosh_of(const Value& x, SourceLocation) { return (exp_of(x) + exp_of(-x)) * 0.5; }
Value sinh_of(const Value& x, SourceLocation) { return (expm1(x) - expm1(-x)) * 0.5; }
Value reciprocal_of(const Value& x, SourceLocation) { return 1.0 / x; }
Value equal_of(const Operand& a, const Operand& b, SourceLocation) { return equal(a, b); }
Value greater_of(const Operand& a, const Operand& b, SourceLocation) { return a > b; }
Value greater_equal_of(const Operand& a, const Operand& b, SourceLocation) { return a >= b; }

void import_is_inf(NodeContext& n) {
  const Value x = n.value(0);
  const bool negative = n.integer("detect_negative", 1) != 0;
  const bool positive = n.integer("detect_positive", 1) != 0;
  const auto is = [&](double infinity) { return equal(x, infinity); };
  if (negative && positive) return n.set(0, is_inf(x));
  if (negative || positive) return n.set(0, is(positive ? kInfinity : -kInfinity));
  n.set(0, logical_and(is(kInfinity), logical_not(is(kInfinity))));
}

// --- Arithmetic --------------------------------------------------------------------------------

// C++'s remainder for fmod=1, else that of Python.
void import_mod(NodeContext& n) {
  const Value a = n.value(0), b = n.value(1);
  if (n.integer("fmod", 0) == 0) return n.set(0, floor_mod(a, b));
  if (is_integer(a.dtype())) return n.set(0, a - b * (a / b));
  // The remainder of the sizes has the sign of a.
  const Value rest = floor_mod(abs(a), abs(b));
  n.set(0, where(less(a, 0.0), -rest, rest));
}

// Of integers as f64, which holds what a 32-bit power can be.
void import_pow(NodeContext& n) {
  const Value a = n.value(0), b = n.value(1);
  if (is_arithmetic_float(a.dtype())) {
    return n.set(0, pow(a, b.dtype() == a.dtype() ? b : cast(b, {.dtype = a.dtype()})));
  }
  const auto wide = [](const Value& x) { return cast(x, {.dtype = f64}); };
  n.set(0, cast(pow(wide(a), wide(b)), {.dtype = a.dtype()}));
}

void import_mean(NodeContext& n) {
  Value total = n.value(0);
  for (std::size_t i = 1; i < n.inputs(); ++i) total = total + n.value(i);
  n.set(0, total / static_cast<double>(n.inputs()));
}

Value max_of(const Operand& a, const Operand& b, SourceLocation) { return maximum(a, b); }
Value min_of(const Operand& a, const Operand& b, SourceLocation) { return minimum(a, b); }

void import_clip(NodeContext& n) {
  Value x = n.value(0);
  if (n.version() < 11) {
    if (n.attribute("min") != nullptr) x = maximum(x, n.number("min", 0));
    if (n.attribute("max") != nullptr) x = minimum(x, n.number("max", 0));
    return n.set(0, x);
  }
  if (n.has(1)) x = maximum(x, n.value(1));
  if (n.has(2)) x = minimum(x, n.value(2));
  n.set(0, x);
}

void import_not(NodeContext& n) { n.set(0, logical_not(n.value(0))); }

void import_xor(NodeContext& n) { n.set(0, not_equal(n.value(0), n.value(1))); }

void import_where(NodeContext& n) { n.set(0, where(n.value(0), n.value(1), n.value(2))); }

void import_bit_shift(NodeContext& n) {
  const std::string direction = n.text("direction", "");
  const Value a = n.value(0), b = n.value(1);
  if (direction == "LEFT") return n.set(0, shift_left(a, b));
  if (direction == "RIGHT") return n.set(0, shift_right(a, b));
  n.fail("its direction is \"" + direction + "\", not LEFT or RIGHT");
}

constexpr Operator kElementwiseOperators[] = {
    {"", "Abs", unary<abs>},
    {"", "Acos", unary<acos_of>},
    {"", "Acosh", unary<acosh_of>},
    {"", "Add", binary<add>, {.on_sizes = add_sizes}},
    {"", "And", binary<logical_and>},
    {"", "Asin", unary<asin_of>},
    {"", "Asinh", unary<asinh_of>},
    {"", "Atan", unary<trireme::atan>},
    {"", "Atanh", unary<atanh_of>},
    {"", "BitShift", import_bit_shift},
    {"", "BitwiseAnd", binary<bitwise_and>},
    {"", "BitwiseNot", unary<bitwise_not>},
    {"", "BitwiseOr", binary<bitwise_or>},
    {"", "BitwiseXor", binary<bitwise_xor>},
    {"", "Ceil", unary<trireme::ceil>},
    {"", "Clip", import_clip},
    {"", "Cos", unary<trireme::cos>},
    {"", "Cosh", unary<cosh_of>},
    {"", "Div", binary<trireme::div>, {.on_sizes = divide_sizes}},
    {"", "Equal", binary<equal_of>, {.on_sizes = compare_sizes}},
    {"", "Erf", unary<trireme::erf>},
    {"", "Exp", unary<trireme::exp>},
    {"", "Floor", unary<trireme::floor>},
    {"", "Greater", binary<greater_of>},
    {"", "GreaterOrEqual", binary<greater_equal_of>},
    {"", "IsInf", import_is_inf},
    {"", "IsNaN", unary<is_nan>},
    {"", "Less", binary<less>},
    {"", "LessOrEqual", binary<less_equal>},
    {"", "Log", unary<trireme::log>},
    {"", "Max", folded<max_of>},
    {"", "Mean", import_mean},
    {"", "Min", folded<min_of>},
    {"", "Mod", import_mod},
    {"", "Mul", binary<mul>, {.on_sizes = multiply_sizes}},
    {"", "Neg", unary<neg>},
    {"", "Not", import_not},
    {"", "Or", binary<logical_or>},
    {"", "Pow", import_pow},
    {"", "Reciprocal", unary<reciprocal_of>},
    {"", "Round", unary<trireme::round>},
    {"", "Sign", unary<sign>},
    {"", "Sin", unary<trireme::sin>},
    {"", "Sinh", unary<sinh_of>},
    {"", "Sqrt", unary<trireme::sqrt>},
    {"", "Sub", binary<sub>, {.on_sizes = subtract_sizes}},
    {"", "Sum", folded<add>},
    {"", "Tan", unary<trireme::tan>},
    {"", "Tanh", unary<trireme::tanh>},
    {"", "Where", import_where, {.widens = false, .on_sizes = choose_sizes}},
    {"", "Xor", import_xor},
};

}  // namespace

Operators elementwise_operators() { return kElementwiseOperators; }

}  // namespace trireme::onnx
