#include <cmath>
#include <utility>

#include "ops/matrices.h"

namespace trireme::ops {
namespace {

// Column by column, from x = L L^T.
bool factor(const std::vector<Matrix>& operands, const std::vector<Matrix>& results) {
  const Matrix &x = operands[0], &l = results[0];
  for (std::int64_t j = 0; j < x.rows; ++j) {
    for (std::int64_t i = j; i < x.rows; ++i) {
      double sum = (x(i, j) + x(j, i)) / 2;
      for (std::int64_t k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
      if (i == j && !(sum > 0)) return false;
      l(i, j) = i == j ? std::sqrt(sum) : sum / l(j, j);
    }
  }
  return true;
}

// S = L^-T P L^-1, where P is the lower part of L^T dL with half of its diagonal (Murray 2016,
// "Differentiation of the Cholesky decomposition").
void cholesky_gradient_rule(GradientContext& c) {
  const Value l = c.result(), turned = transposed(l);
  const Value p = lower_part(matmul(turned, lower_part(c.gradient(), 1)), 0.5);
  const Value left = solve(turned, p);
  c.accumulate(0, symmetric_part(solve(turned, transposed(left))));
}

Sample cholesky_sample(std::vector<std::int64_t> shape, DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(shape), dtype)};
  s.low = 0.5;
  return s;
}

}  // namespace

Op cholesky() {
  Op op("cholesky(x)");
  op.doc =
      "The lower triangular matrix L with L L^T = x, for each matrix of a stack.\n"
      "The operand x is [..., n, n], f32 or f64; its symmetric part (x + x^T) / 2 is used.\n"
      "Computed in f64 by LAPACK.\n"
      "A matrix that is not positive definite, or not finite, is Error(data) at run time.";
  op.traits = bits(Trait::library);
  op.type = [](const TypeContext& c) {
    require_matrices("cholesky", c, 0, true);
    return std::vector<Type>{Type{c.operands[0].dtype, c.operands[0].shape, ""}};
  };
  op.row_wise = matrices_row_wise;
  op.mixed_axes = matrix_axes;
  op.flops = [](const ir::Op& o) {  // about: 1/3 n^3
    const Shape& shape = o.operands[0]->type.shape;
    return product(shape) * shape.back();
  };
  op.library_kernel = "cholesky";
  op.reference = matrix_reference("cholesky: a matrix is not positive definite", factor, {2});
  op.gradient = cholesky_gradient_rule;
  op.torch_reference = "torch.linalg.cholesky((x[0] + x[0].mT) / 2)";
  // Random numbers are positive definite matrices only if n is 1; conformance_layers has others.
  op.samples = {cholesky_sample({1, 1}), cholesky_sample({5, 1, 1}), cholesky_sample({3, 0, 0}),
                cholesky_sample({0, 1, 1}), cholesky_sample({2, 3, 1, 1}, DType::f64)};
  return op;
}

}  // namespace trireme::ops
