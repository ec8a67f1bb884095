#include <cmath>
#include <utility>

#include "ops/index.h"
#include "ops/matrices.h"

namespace trireme::ops {
namespace {

std::vector<Type> qr_type(const TypeContext& c) {
  require_matrices("qr", c, 0, false);
  const Type& x = c.operands[0];
  const Dim m = x.shape.end()[-2], n = x.shape.end()[-1];
  require(never_negative(m - n),
          "qr needs at least as many rows as columns, not " + c.operand_texts[0], "transpose x");
  return {Type{x.dtype, x.shape, ""}, Type{x.dtype, with_matrix(x.shape, {n, n}), ""}};
}

// Gram and Schmidt's method, with every projection done twice.
bool orthogonalize(const std::vector<Matrix>& operands, const std::vector<Matrix>& results) {
  const Matrix &x = operands[0], &q = results[0], &r = results[1];
  for (std::int64_t j = 0; j < x.columns; ++j) {
    for (std::int64_t i = 0; i < x.rows; ++i) q(i, j) = x(i, j);
    for (int twice = 0; twice < 2; ++twice) {
      for (std::int64_t k = 0; k < j; ++k) {
        double dot = 0;
        for (std::int64_t i = 0; i < x.rows; ++i) dot += q(i, k) * q(i, j);
        for (std::int64_t i = 0; i < x.rows; ++i) q(i, j) -= dot * q(i, k);
        r(k, j) += dot;
      }
    }
    double square = 0;
    for (std::int64_t i = 0; i < x.rows; ++i) square += q(i, j) * q(i, j);
    r(j, j) = std::sqrt(square);
    for (std::int64_t i = 0; i < x.rows; ++i) q(i, j) /= r(j, j);
  }
  return true;
}

// dx = (dQ + Q C) R^-T, where C is symmetric with the lower part of M = R dR^T - dQ^T Q.
void qr_gradient_rule(GradientContext& c) {
  const Value q = c.result(0), r = c.result(1), dq = c.gradient(0);
  const Value dr = transposed(lower_part(transposed(c.gradient(1)), 1));
  const Value m = matmul(r, dr, {.transpose_b = true}) - matmul(dq, q, {.transpose_a = true});
  const Value both = lower_part(m, 1) + transposed(lower_part(m, 0));
  c.accumulate(0, transposed(solve(r, transposed(dq + matmul(q, both)))));
}

Sample qr_sample(std::vector<std::int64_t> shape, DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(shape), dtype)};
  s.tolerance = 1e-3;  // the condition numbers of random matrices
  return s;
}

}  // namespace

Op qr() {
  Op op("qr(x) -> q, r");
  op.doc =
      "The factors of x = Q R for each matrix.\n"
      "Q has orthonormal columns, and R is upper triangular.\n"
      "The operand x is [..., m, n] with m >= n, f32 or f64; Q is [..., m, n] and R is [..., n, "
      "n].\n"
      "The diagonal of R is not negative.\n"
      "Computed in f64 by LAPACK.\n"
      "If an element is not finite, the results are NaN.\n"
      "Where the columns of x are linearly dependent, the gradient is Error(data) at run time, or "
      "large.";
  op.traits = bits(Trait::library);
  op.type = qr_type;
  op.row_wise = matrices_row_wise;
  op.mixed_axes = matrix_axes;
  op.flops = [](const ir::Op& o) {  // about: for both factors
    const Shape& shape = o.operands[0]->type.shape;
    return Dim(4) * product(shape) * shape.back();
  };
  op.library_kernel = "qr";
  op.reference = matrix_reference("", orthogonalize, {2, 2});
  op.gradient = qr_gradient_rule;
  op.torch_reference =
      "(lambda q, r: (lambda s: (q * s[..., None, :], r * s[..., :, None]))"
      "(r.diagonal(0, -2, -1).sign()))(*torch.linalg.qr(x[0]))";
  op.samples = {qr_sample({5, 3}),
                qr_sample({4, 4}),
                qr_sample({3, 4, 2}),
                qr_sample({2, 2, 3, 3}),
                qr_sample({1, 1}),
                qr_sample({0, 3, 2}),
                qr_sample({7, 4}, DType::f64)};
  return op;
}

}  // namespace trireme::ops
