#include <cmath>
#include <utility>

#include "ops/matrices.h"

namespace trireme::ops {
namespace {

std::vector<Type> solve_type(const TypeContext& c) {
  require_matrices("solve", c, 0, true);
  require_matrices("solve", c, 1, false);
  const Type &a = c.operands[0], &b = c.operands[1];
  require(
      a.dtype == b.dtype && b.shape.end()[-2] == a.shape.end()[-1] &&
          Shape(a.shape.begin(), a.shape.end() - 2) == Shape(b.shape.begin(), b.shape.end() - 2),
      "solve needs [..., n, n] and [..., n, k] with the same dtype and leading axes, not " +
          c.operand_texts[0] + ", " + c.operand_texts[1],
      "a vector b is a matrix of one column: unsqueeze(b, -1)");
  return {Type{b.dtype, b.shape, ""}};
}

// Gaussian elimination with the largest pivot of each column.
bool eliminate(const std::vector<Matrix>& operands, const std::vector<Matrix>& results) {
  const Matrix &a = operands[0], &b = operands[1], &x = results[0];
  const std::int64_t n = a.rows;
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t pivot = i;
    for (std::int64_t r = i + 1; r < n; ++r) {
      if (std::abs(a(r, i)) > std::abs(a(pivot, i))) pivot = r;
    }
    if (a(pivot, i) == 0) return false;
    for (std::int64_t j = 0; j < n; ++j) std::swap(a(i, j), a(pivot, j));
    for (std::int64_t j = 0; j < b.columns; ++j) std::swap(b(i, j), b(pivot, j));
    for (std::int64_t r = i + 1; r < n; ++r) {
      const double factor = a(r, i) / a(i, i);
      for (std::int64_t j = i; j < n; ++j) a(r, j) -= factor * a(i, j);
      for (std::int64_t j = 0; j < b.columns; ++j) b(r, j) -= factor * b(i, j);
    }
  }
  for (std::int64_t i = n; i-- > 0;) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      double sum = b(i, j);
      for (std::int64_t r = i + 1; r < n; ++r) sum -= a(i, r) * x(r, j);
      x(i, j) = sum / a(i, i);
    }
  }
  return true;
}

void solve_gradient_rule(GradientContext& c) {
  const Value db = solve(transposed(c.operand(0)), c.gradient());
  if (c.needs_gradient(0)) {
    c.accumulate(0, -matmul(db, c.result(), {.transpose_b = true}));
  }
  if (c.needs_gradient(1)) c.accumulate(1, db);
}

Sample solve_sample(std::vector<std::int64_t> a, std::vector<std::int64_t> b,
                    DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(a), dtype), type_of(std::move(b), dtype)};
  s.tolerance = 1e-4;  // the condition numbers of random matrices
  return s;
}

}  // namespace

Op solve() {
  Op op("solve(a, b)");
  op.doc =
      "The solution x of the linear equations a x = b, for each matrix of a stack.\n"
      "The operand a is [..., n, n] and b is [..., n, k], with the same leading axes, f32 or f64.\n"
      "Computed in f64 by LAPACK, from factors L and U with row exchanges.\n"
      "A singular matrix is Error(data) at run time.\n"
      "If an element of a or b is not finite, the result is NaN.";
  op.traits = bits(Trait::library);
  op.type = solve_type;
  op.row_wise = matrices_row_wise;
  op.mixed_axes = matrix_axes;
  op.flops = [](const ir::Op& o) {  // about: 2/3 n^3 for the factors
    const Type &a = o.operands[0]->type, &b = o.operands[1]->type;
    return product(a.shape) * a.shape.back() + Dim(2) * product(b.shape) * a.shape.back();
  };
  op.library_kernel = "solve";
  op.reference = matrix_reference("solve: a matrix is singular", eliminate, {2});
  op.gradient = solve_gradient_rule;
  op.torch_reference = "torch.linalg.solve(x[0], x[1])";
  op.samples = {solve_sample({5, 5}, {5, 3}),
                solve_sample({3, 4, 4}, {3, 4, 1}),
                solve_sample({2, 3, 3, 3}, {2, 3, 3, 2}),
                solve_sample({1, 1}, {1, 1}),
                solve_sample({4, 0, 0}, {4, 0, 2}),
                solve_sample({0, 3, 3}, {0, 3, 2}),
                solve_sample({3, 3}, {3, 0}),
                solve_sample({6, 6}, {6, 2}, DType::f64)};
  return op;
}

}  // namespace trireme::ops
