#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ops/index.h"
#include "ops/matrices.h"

namespace trireme::ops {
namespace {

std::vector<Type> svd_type(const TypeContext& c) {
  require_matrices("svd", c, 0, false);
  const Type& x = c.operands[0];
  const Dim m = x.shape.end()[-2], n = x.shape.end()[-1];
  require(never_negative(m - n) || never_negative(n - m),
          "svd needs to know whether rows or columns are more: " + c.operand_texts[0]);
  const Dim k = never_negative(m - n) ? n : m;
  return {Type{x.dtype, with_matrix(x.shape, {m, k}), ""},
          Type{x.dtype, with_matrix(x.shape, {k}), ""},
          Type{x.dtype, with_matrix(x.shape, {k, n}), ""}};
}

// Jacobi's method on one side: rotations of pairs of columns of a [m, n], m >= n, until they are
// orthogonal. Then they are u * s.
struct Columns {
  std::vector<std::vector<double>> a, v;  // columns

  void rotate(std::size_t p, std::size_t q) {
    const double pp = dot(a[p], a[p]), qq = dot(a[q], a[q]), pq = dot(a[p], a[q]);
    if (pq == 0) return;
    const double angle = 0.5 * std::atan2(2 * pq, qq - pp);
    mix(a[p], a[q], angle);
    mix(v[p], v[q], angle);
  }
  static double dot(const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  }
  static void mix(std::vector<double>& x, std::vector<double>& y, double angle) {
    const double c = std::cos(angle), s = std::sin(angle);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double f = x[i], g = y[i];
      x[i] = c * f - s * g;
      y[i] = s * f + c * g;
    }
  }
};

bool rotate(const std::vector<Matrix>& operands, const std::vector<Matrix>& results) {
  const Matrix& x = operands[0];
  const bool wide = x.rows < x.columns;
  const std::int64_t m = std::max(x.rows, x.columns), n = std::min(x.rows, x.columns);
  Columns c;
  for (std::int64_t j = 0; j < n; ++j) {
    c.a.emplace_back();
    for (std::int64_t i = 0; i < m; ++i) c.a.back().push_back(wide ? x(j, i) : x(i, j));
    c.v.emplace_back(n, 0.0);
    c.v.back()[static_cast<std::size_t>(j)] = 1;
  }
  for (int sweep = 0; sweep < 50; ++sweep) {
    for (std::size_t p = 0; p < c.a.size(); ++p) {
      for (std::size_t q = p + 1; q < c.a.size(); ++q) c.rotate(p, q);
    }
  }
  std::vector<std::size_t> order(c.a.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](std::size_t j) { return std::sqrt(Columns::dot(c.a[j], c.a[j])); };
  std::sort(order.begin(), order.end(), [&](auto i, auto j) { return size(i) > size(j); });
  for (std::int64_t j = 0; j < n; ++j) {
    const std::size_t from = order[static_cast<std::size_t>(j)];
    const double s = size(from);
    std::vector<double> u = c.a[from], v = c.v[from];
    for (double& number : u) number /= s;
    if (wide) std::swap(u, v);
    const auto largest = std::max_element(
        u.begin(), u.end(), [](double f, double g) { return std::abs(f) < std::abs(g); });
    const double sign = *largest < 0 ? -1 : 1;
    results[1](0, j) = s;
    for (std::int64_t i = 0; i < x.rows; ++i) {
      results[0](i, j) = sign * u[static_cast<std::size_t>(i)];
    }
    for (std::int64_t i = 0; i < x.columns; ++i) {
      results[2](j, i) = sign * v[static_cast<std::size_t>(i)];
    }
  }
  return true;
}

Value reciprocal_or_zero(const Value& x) {
  const Value is_zero = equal(x, 0.0);
  return where(is_zero, 0.0, 1.0 / where(is_zero, 1.0, x));
}

// Townsend 2016, "Differentiating the singular value decomposition", with F[i, j] = 1 / (s[j]^2 -
// s[i]^2) as two factors, whose squares need not be numbers of the dtype. Where s is equal, F is 0.
// If U or V is square, dU or dV has no part outside of its columns. Computed, that part would be
// rounding errors, divided by singular values that may be tiny.
void svd_gradient_rule(GradientContext& c) {
  const Value u = c.result(0), s = as_rows(c.result(1)), vh = c.result(2), v = transposed(vh);
  const Value du = c.gradient(0), dv = transposed(c.gradient(2));
  const Value differences = reciprocal_or_zero(s - transposed(s));
  const Value sums = reciprocal_or_zero(s + transposed(s));
  const Value inverse_s = reciprocal_or_zero(s);
  const Value utdu = matmul(u, du, {.transpose_a = true});
  const Value vtdv = matmul(v, dv, {.transpose_a = true});
  const Value left = differences * (utdu - transposed(utdu)) * (sums * s);
  const Value right = differences * (vtdv - transposed(vtdv)) * (sums * transposed(s));
  Value dx = matmul(u * as_rows(c.gradient(1)) + matmul(u, left + right), vh);
  const Dim k = s.shape().back();
  if (u.dim(-2) != k) dx = dx + matmul((du - matmul(u, utdu)) * inverse_s, vh);
  if (v.dim(-2) != k) dx = dx + matmul(u * inverse_s, transposed(dv - matmul(v, vtdv)));
  c.accumulate(0, dx);
}

Sample svd_sample(std::vector<std::int64_t> shape, DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(shape), dtype)};
  s.tolerance = 1e-3;  // singular values of random matrices can be close to each other
  return s;
}

}  // namespace

Op svd() {
  Op op("svd(x) -> u, s, vh");
  op.doc =
      "The singular values of each matrix in descending order, with x = U diag(s) V^T.\n"
      "The operand x is [..., m, n], f32 or f64; with k = min(m, n), U is [..., m, k], s [..., k] "
      "and vh, "
      "which "
      "is V^T, [..., k, n].\n"
      "The largest element of each column of U, the first of equal ones, is positive.\n"
      "Computed in f64 by LAPACK.\n"
      "If an element is not finite, the results are NaN.\n"
      "Vectors of equal values have no gradient of their own: that between them is 0.";
  op.traits = bits(Trait::library);
  op.type = svd_type;
  op.row_wise = matrices_row_wise;
  op.mixed_axes = matrix_axes;
  op.flops = [](const ir::Op& o) {  // about: for values and vectors
    const Shape& shape = o.operands[0]->type.shape;
    return Dim(14) * product(shape) * o.results[1]->type.shape.back();
  };
  op.library_kernel = "svd";
  op.reference = matrix_reference("", rotate, {2, 1, 2});
  op.gradient = svd_gradient_rule;
  op.torch_reference =
      "(lambda u, s, v: (lambda t: (u * t, s, v * t.mT))"
      "(torch.take_along_dim(u, u.abs().argmax(-2, keepdim=True), -2).sign()))"
      "(*torch.linalg.svd(x[0], full_matrices=False))";
  op.samples = {svd_sample({5, 3}),
                svd_sample({3, 4}),
                svd_sample({3, 3, 2}),
                svd_sample({2, 2, 2, 3}),
                svd_sample({1, 1}),
                svd_sample({0, 3, 2}),
                svd_sample({4, 4}, DType::f64)};
  return op;
}

}  // namespace trireme::ops
