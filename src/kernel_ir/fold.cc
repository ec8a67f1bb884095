// The folding rules of Builder. Every rule gives the same bits as the expression it replaces, under
// the assumptions on i64 that kernel.h states.

#include <cmath>
#include <utility>

#include "kernel_ir/kernel.h"
#include "kernel_ir/scalar.h"

namespace trireme::kernel_ir {
namespace {

bool commutes(const Expr& e) {
  switch (e.op) {
    case ExprOp::add:
    case ExprOp::mul:
    case ExprOp::bit_and:
    case ExprOp::bit_or:
    case ExprOp::bit_xor:
    case ExprOp::eq:
    case ExprOp::ne: return true;
    case ExprOp::min:
    case ExprOp::max: return !is_arithmetic_float(e.type);
    default: return false;
  }
}

}  // namespace

bool Builder::is_integer_constant(ExprId id, std::int64_t value) const {
  const Expr& e = kernel_.expr(id);
  return e.op == ExprOp::constant && !is_arithmetic_float(e.type) && e.integer == value;
}

bool Builder::not_negative(ExprId id) const {
  const Expr& e = kernel_.expr(id);
  if (is_unsigned(e.type)) return true;
  switch (e.op) {
    case ExprOp::constant: return e.integer >= 0;
    case ExprOp::size:
    case ExprOp::loop_var: return true;
    case ExprOp::cast: {
      const DType from = kernel_.expr(e.args[0]).type;
      return (is_unsigned(from) && size_of(from) < size_of(e.type)) ||
             (e.type == DType::i64 && from == DType::i32 && not_negative(e.args[0]));
    }
    case ExprOp::add:
    case ExprOp::mul:
      return e.type == DType::i64 && not_negative(e.args[0]) && not_negative(e.args[1]);
    case ExprOp::div:
    case ExprOp::min: return not_negative(e.args[0]) && not_negative(e.args[1]);
    case ExprOp::max: return not_negative(e.args[0]) || not_negative(e.args[1]);
    case ExprOp::rem: return not_negative(e.args[0]);
    case ExprOp::select: return not_negative(e.args[1]) && not_negative(e.args[2]);
    default: return false;
  }
}

bool Builder::less(ExprId a, ExprId b) const {
  const Expr& x = kernel_.expr(a);
  const Expr& y = kernel_.expr(b);
  if (x.op == ExprOp::constant && y.op == ExprOp::constant) return x.integer < y.integer;
  if (x.op == ExprOp::loop_var) {
    const auto it = extents_.find(x.index);
    if (it == extents_.end()) return false;
    const Expr& extent = kernel_.expr(it->second);
    return it->second == b || (extent.op == ExprOp::constant && y.op == ExprOp::constant &&
                               extent.integer <= y.integer);
  }
  if (x.op == ExprOp::rem) {
    if (x.args[1] == b) return true;
    const Expr& modulus = kernel_.expr(x.args[1]);
    return modulus.op == ExprOp::constant && y.op == ExprOp::constant && modulus.integer > 0 &&
           modulus.integer <= y.integer;
  }
  if (x.op == ExprOp::min) return less(x.args[0], b) || less(x.args[1], b);
  if (x.op == ExprOp::select) return less(x.args[1], b) && less(x.args[2], b);
  return false;
}

ExprId Builder::fold(const Expr& given) {
  Expr e = given;
  const int count = argument_count(e.op);
  if (count == 0) return kNoExpr;
  bool all_constant = true;
  Scalar values[3];
  for (int i = 0; i < count; ++i) {
    all_constant = all_constant && is_constant(e.args[i]);
    if (is_constant(e.args[i])) values[i] = constant_of(kernel_.expr(e.args[i]));
  }
  const DType argument = type(e.args[e.op == ExprOp::select ? 1 : 0]);
  if (all_constant) {
    const Scalar result = evaluate(e.op, e.type, argument, values);
    return kernel_.add({.op = ExprOp::constant,
                        .type = e.type,
                        .integer = result.integer,
                        .number = result.number});
  }
  if (e.op == ExprOp::select) {
    if (is_constant(e.args[0])) return values[0].integer != 0 ? e.args[1] : e.args[2];
    return e.args[1] == e.args[2] ? e.args[1] : kNoExpr;
  }
  if (e.op == ExprOp::cast || e.op == ExprOp::bitcast) {
    if (argument == e.type) return e.args[0];
    // A cast that narrows a widened value back to its type changes nothing.
    const Expr& inner = kernel_.expr(e.args[0]);
    const bool widened =
        inner.op == ExprOp::cast && is_half(e.type) && type(inner.args[0]) == e.type;
    return widened && e.op == ExprOp::cast ? inner.args[0] : kNoExpr;
  }
  const Expr& a = kernel_.expr(e.args[0]);
  if ((e.op == ExprOp::neg || e.op == ExprOp::logical_not) && a.op == e.op) return a.args[0];
  if (count != 2) return kNoExpr;

  // Constants to the right, then by number, so that a+b and b+a are one.
  if (commutes(e) && !is_constant(e.args[1]) && (is_constant(e.args[0]) || e.args[0] > e.args[1])) {
    std::swap(e.args[0], e.args[1]);
  }
  const ExprId folded = is_arithmetic_float(argument) ? fold_float(e) : fold_integer(e);
  return folded == kNoExpr ? kernel_.add(e) : folded;
}

ExprId Builder::fold_float(const Expr& e) {
  if (!is_constant(e.args[1])) return kNoExpr;
  const double c = kernel_.expr(e.args[1]).number;
  const bool negative = std::signbit(c);
  switch (e.op) {
    case ExprOp::add: return c == 0 && negative ? e.args[0] : kNoExpr;
    case ExprOp::sub: return c == 0 && !negative ? e.args[0] : kNoExpr;
    case ExprOp::mul:
    case ExprOp::div: return c == 1 ? e.args[0] : kNoExpr;
    case ExprOp::pow:
      if (c == 0) return constant(e.type, 1);
      if (c == 1) return e.args[0];
      return c == 2 ? mul(e.args[0], e.args[0]) : kNoExpr;
    default: return kNoExpr;
  }
}

ExprId Builder::fold_integer(const Expr& e) {
  const ExprId a = e.args[0];
  const ExprId b = e.args[1];
  const bool constant_b = is_constant(b);
  const std::int64_t c = constant_b ? kernel_.expr(b).integer : 0;
  const Expr x = kernel_.expr(a);
  switch (e.op) {
    case ExprOp::add:
      if (constant_b && c == 0) return a;
      if (constant_b && x.op == ExprOp::add && is_constant(x.args[1])) {
        return add(x.args[0], add(x.args[1], b));
      }
      return kNoExpr;
    case ExprOp::sub:
      if (a == b) return integer(0, e.type);
      if (constant_b) return add(a, unary(ExprOp::neg, b));
      if (x.op == ExprOp::add && x.args[0] == b) return x.args[1];
      if (x.op == ExprOp::add && x.args[1] == b) return x.args[0];
      return kNoExpr;
    case ExprOp::mul:
      if (!constant_b) return kNoExpr;
      if (c == 0) return b;
      if (c == 1) return a;
      if (x.op == ExprOp::mul && is_constant(x.args[1])) {
        return mul(x.args[0], mul(x.args[1], b));
      }
      if (x.op == ExprOp::add && is_constant(x.args[1])) {
        return add(mul(x.args[0], b), mul(x.args[1], b));
      }
      return kNoExpr;
    case ExprOp::div:
    case ExprOp::rem: return fold_division(e);
    case ExprOp::min:
    case ExprOp::max:
      if (a == b) return a;
      if (less(a, b)) return e.op == ExprOp::min ? a : b;
      if (less(b, a)) return e.op == ExprOp::min ? b : a;
      if (constant_b && c == 0 && not_negative(a)) return e.op == ExprOp::min ? b : a;
      return kNoExpr;
    case ExprOp::bit_and:
      if (a == b || (constant_b && (c == -1 || (e.type == DType::boolean && c == 1)))) return a;
      return constant_b && c == 0 ? b : kNoExpr;
    case ExprOp::bit_or:
      if (a == b || (constant_b && c == 0)) return a;
      return constant_b && (c == -1 || (e.type == DType::boolean && c == 1)) ? b : kNoExpr;
    case ExprOp::bit_xor:
    case ExprOp::shl:
    case ExprOp::shr: return constant_b && c == 0 ? a : kNoExpr;
    case ExprOp::eq:
    case ExprOp::le:
      if (a == b) return boolean(true);
      if (e.op == ExprOp::le && is_integer_constant(a, 0) && not_negative(b)) return boolean(true);
      return e.op == ExprOp::le && less(a, b) ? boolean(true) : kNoExpr;
    case ExprOp::ne: return a == b ? boolean(false) : kNoExpr;
    case ExprOp::lt:
      if (a == b || (constant_b && c == 0 && not_negative(a))) return boolean(false);
      return less(a, b) ? boolean(true) : kNoExpr;
    default: return kNoExpr;
  }
}

void Builder::sum_terms(ExprId id, std::vector<ExprId>* terms) const {
  const Expr& e = kernel_.expr(id);
  if (e.op == ExprOp::add) {
    sum_terms(e.args[0], terms);
    sum_terms(e.args[1], terms);
  } else {
    terms->push_back(id);
  }
}

// a == quotient * n for sure.
bool Builder::divide_exactly(ExprId a, ExprId n, ExprId* quotient) {
  const Expr x = kernel_.expr(a);
  const Expr y = kernel_.expr(n);
  if (a == n) {
    *quotient = integer(1);
    return true;
  }
  if (x.op == ExprOp::constant && y.op == ExprOp::constant && y.integer != 0 &&
      x.integer % y.integer == 0) {
    *quotient = integer(x.integer / y.integer);
    return true;
  }
  if (x.op != ExprOp::mul) return false;
  for (int i = 0; i < 2; ++i) {
    ExprId part = kNoExpr;
    if (divide_exactly(x.args[i], n, &part)) {
      *quotient = mul(part, x.args[1 - i]);
      return true;
    }
  }
  return false;
}

// The sum a is cut into multiples of n and a rest; all being >= 0, the multiples leave the
// division.
ExprId Builder::fold_division(const Expr& e) {
  const ExprId a = e.args[0];
  const ExprId n = e.args[1];
  const bool quotient = e.op == ExprOp::div;
  if (is_integer_constant(n, 1)) return quotient ? a : integer(0, e.type);
  if (is_integer_constant(a, 0)) return a;
  if (e.type != DType::i64 || !not_negative(a) || !not_negative(n)) return kNoExpr;
  if (is_integer_constant(n, 0)) return n;
  if (less(a, n)) return quotient ? integer(0) : a;

  std::vector<ExprId> terms;
  sum_terms(a, &terms);
  ExprId multiples = integer(0);
  ExprId rest = integer(0);
  bool found = false;
  for (const ExprId term : terms) {
    ExprId part = kNoExpr;
    if (!not_negative(term)) return kNoExpr;
    if (divide_exactly(term, n, &part)) {
      multiples = add(multiples, part);
      found = true;
    } else {
      rest = add(rest, term);
    }
  }
  if (found) return quotient ? add(multiples, div(rest, n)) : rem(rest, n);

  const Expr x = kernel_.expr(a);
  if (quotient && x.op == ExprOp::div && is_constant(x.args[1]) && is_constant(n)) {
    return div(x.args[0], mul(x.args[1], n));
  }
  // (x % (k * n)) % n == x % n
  ExprId part = kNoExpr;
  if (!quotient && x.op == ExprOp::rem && divide_exactly(x.args[1], n, &part)) {
    return rem(x.args[0], n);
  }
  return kNoExpr;
}

}  // namespace trireme::kernel_ir
