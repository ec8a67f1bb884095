#include "trireme/linalg.h"

#include <algorithm>

#include "nn/axes.h"
#include "trireme/functions.h"
#include "trireme/indexing.h"

namespace trireme {
namespace {

// Returns the leading axes that both operands are broadcast to; Error(usage) if there are none.
Shape leading_axes(const Value& a, const Value& b) {
  const Shape x(a.shape().begin(), a.shape().end() - 2), y(b.shape().begin(), b.shape().end() - 2);
  Shape result = x.size() >= y.size() ? x : y;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    const Dim &p = x[x.size() - 1 - i], &q = y[y.size() - 1 - i];
    if (p != q && p != Dim(1) && q != Dim(1)) {
      nn::fail_layer("broadcast_matmul",
                     "the leading dimensions differ: " + a.str() + ", " + b.str(),
                     "from the last one on, they must be equal, 1 or missing", a);
    }
    result[result.size() - 1 - i] = p == Dim(1) ? q : p;
  }
  return result;
}

Value with_leading(const Value& x, const Shape& leading) {
  Shape shape = leading;
  shape.insert(shape.end(), x.shape().end() - 2, x.shape().end());
  return broadcast_to(x, shape);
}

// Whether x is one matrix, apart from leading axes of size 1.
bool is_one_matrix(const Value& x) {
  return std::all_of(x.shape().begin(), x.shape().end() - 2,
                     [](const Dim& size) { return size == Dim(1); });
}

Value as_matrix(const Value& x) {
  return x.rank() == 2 ? x : reshape(x, {.shape = Shape(x.shape().end() - 2, x.shape().end())});
}

Value matrix_product(const Value& a, const Value& b) {
  const Shape leading = leading_axes(a, b);
  // One matrix needs no copies: it is the right operand of a product of all others.
  if (is_one_matrix(b)) return matmul(with_leading(a, leading), as_matrix(b));
  if (is_one_matrix(a)) {
    const Value turned =
        matmul(with_leading(b, leading), as_matrix(a), {.transpose_a = true, .transpose_b = true});
    return swap_axes(turned, -1, -2);
  }
  return matmul(with_leading(a, leading), with_leading(b, leading));
}

}  // namespace

Value broadcast_matmul(const Value& a, const Value& b, SourceLocation where) {
  const nn::LocationScope at(a, "broadcast_matmul", where);
  const nn::LocationScope at_b(b, "broadcast_matmul", where);
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    nn::fail_layer("broadcast_matmul", what + a.str() + ", " + b.str(), hint, a);
  };
  if (!is_arithmetic_float(a.dtype()) || a.dtype() != b.dtype()) {
    refuse("both operands must have one dtype, f32 or f64: ", "cast one of them");
  }
  if (a.rank() == 0 || b.rank() == 0) refuse("an operand is a scalar: ", "multiply with *");
  const Value x = a.rank() == 1 ? unsqueeze(a, 0) : a, y = b.rank() == 1 ? unsqueeze(b, 1) : b;
  if (x.dim(-1) != y.dim(-2)) {
    refuse("the inner dimensions differ (" + x.dim(-1).str() + " and " + y.dim(-2).str() + "): ",
           "the last dimension of a must equal the second to last of b");
  }
  Value product = matrix_product(x, y);
  Shape shape = product.shape();
  if (b.rank() == 1) shape.pop_back();
  if (a.rank() == 1) shape.erase(shape.end() - (b.rank() == 1 ? 1 : 2));
  return shape == product.shape() ? product : reshape(product, {.shape = shape});
}

Value outer(const Value& a, const Value& b, SourceLocation where) {
  const nn::LocationScope at(a, "outer", where);
  const nn::LocationScope at_b(b, "outer", where);
  Shape shape = a.shape();
  shape.resize(a.shape().size() + b.shape().size(), 1);
  return reshape(a, {.shape = shape}) * b;
}

Value inverse(const Value& x, SourceLocation where) {
  nn::LocationScope at(x, "inverse", where);
  if (x.rank() < 2 || x.dim(-1) != x.dim(-2)) {
    nn::fail_layer("inverse", "x must have square matrices [..., n, n]", "", x);
  }
  const auto numbers = [&](std::int64_t axis) {
    const Shape matrix(x.shape().end() - 2, x.shape().end());
    return at.make("iota", {{"axis", axis}, {"dtype", DType::i64}, {"shape", matrix}});
  };
  const Value one = cast(equal(numbers(0), numbers(1)), {.dtype = x.dtype()});
  return solve(x, broadcast_to(one, x.shape()));
}

Value det(const Value& x, SourceLocation where) {
  const nn::LocationScope at(x, "det", where);
  const std::vector<Value> parts = slogdet(x);
  return parts[0] * exp(parts[1]);
}

}  // namespace trireme
