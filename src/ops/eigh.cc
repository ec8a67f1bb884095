#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ops/matrices.h"

namespace trireme::ops {
namespace {

std::vector<Type> eigh_type(const TypeContext& c) {
  require_matrices("eigh", c, 0, true);
  const Type& x = c.operands[0];
  return {Type{x.dtype, Shape(x.shape.begin(), x.shape.end() - 1), ""}, Type{x.dtype, x.shape, ""}};
}

// Jacobi's method: rotations that make one pair of elements zero after the other. Row i of v is the
// vector of w[i].
bool rotate(const std::vector<Matrix>& operands, const std::vector<Matrix>& results) {
  const Matrix& x = operands[0];
  const std::int64_t n = x.rows;
  std::vector<double> data(static_cast<std::size_t>(n * n)), turned(data.size());
  const Matrix a{data.data(), n, n}, v{turned.data(), n, n};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) a(i, j) = (x(i, j) + x(j, i)) / 2;
    v(i, i) = 1;
  }
  for (int sweep = 0; sweep < 50; ++sweep) {
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        if (a(p, q) == 0) continue;
        const double angle = 0.5 * std::atan2(2 * a(p, q), a(q, q) - a(p, p));
        const double c = std::cos(angle), s = std::sin(angle);
        const auto mix = [&](double& first, double& second) {
          const double f = first, g = second;
          first = c * f - s * g;
          second = s * f + c * g;
        };
        for (std::int64_t k = 0; k < n; ++k) mix(a(k, p), a(k, q));
        for (std::int64_t k = 0; k < n; ++k) mix(a(p, k), a(q, k));
        for (std::int64_t k = 0; k < n; ++k) mix(v(p, k), v(q, k));
      }
    }
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto i, auto j) { return a(i, i) < a(j, j); });
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t from = order[static_cast<std::size_t>(j)];
    std::int64_t largest = 0;
    for (std::int64_t k = 1; k < n; ++k) {
      if (std::abs(v(from, k)) > std::abs(v(from, largest))) largest = k;
    }
    const double sign = v(from, largest) < 0 ? -1 : 1;
    results[0](0, j) = a(from, from);
    for (std::int64_t k = 0; k < n; ++k) results[1](k, j) = sign * v(from, k);
  }
  return true;
}

// dx = V (diag(dw) + F * (V^T dV)) V^T with F[i, j] = 1 / (w[j] - w[i]), and 0 for equal w.
void eigh_gradient_rule(GradientContext& c) {
  const Value w = as_rows(c.result(0)), v = c.result(1);
  Value inner = v * as_rows(c.gradient(0));
  if (c.has_gradient(1)) {
    const Value distance = w - transposed(w);
    const Value equal_w = equal(distance, 0.0);
    const Value f = where(equal_w, 0.0, 1.0 / where(equal_w, 1.0, distance));
    inner = inner + matmul(v, f * matmul(v, c.gradient(1), {.transpose_a = true}));
  }
  c.accumulate(0, symmetric_part(matmul(inner, v, {.transpose_b = true})));
}

Sample eigh_sample(std::vector<std::int64_t> shape, DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(shape), dtype)};
  s.tolerance = 1e-3;  // eigenvalues of random matrices can be close to each other
  return s;
}

}  // namespace

Op eigh() {
  Op op("eigh(x) -> values, vectors");
  op.doc =
      "The eigenvalues of each symmetric matrix in ascending order, and its eigenvectors.\n"
      "The operand x is [..., n, n], f32 or f64; its symmetric part (x + x^T) / 2 is used.\n"
      "The values are [..., n]; column j of vectors [..., n, n] has length 1 and belongs to value "
      "j.\n"
      "The largest element of each vector, the first of equal ones, is positive.\n"
      "Computed in f64 by LAPACK.\n"
      "If an element is not finite, the results are NaN.\n"
      "Vectors of equal values have no gradient of their own: that between them is 0.";
  op.traits = bits(Trait::library);
  op.type = eigh_type;
  op.row_wise = matrices_row_wise;
  op.mixed_axes = matrix_axes;
  op.flops = [](const ir::Op& o) {  // about: for values and vectors
    const Shape& shape = o.operands[0]->type.shape;
    return Dim(9) * product(shape) * shape.back();
  };
  op.library_kernel = "eigh";
  op.reference = matrix_reference("", rotate, {1, 2});
  op.gradient = eigh_gradient_rule;
  op.torch_reference =
      "(lambda w, v: (w, v * torch.take_along_dim(v, v.abs().argmax(-2, keepdim=True), "
      "-2).sign()))(*torch.linalg.eigh((x[0] + x[0].mT) / 2))";
  op.samples = {eigh_sample({4, 4}), eigh_sample({3, 3, 3}), eigh_sample({2, 2, 3, 3}),
                eigh_sample({1, 1}), eigh_sample({0, 3, 3}), eigh_sample({5, 5}, DType::f64)};
  return op;
}

}  // namespace trireme::ops
