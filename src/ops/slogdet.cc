#include <cmath>
#include <limits>
#include <utility>

#include "ops/matrices.h"

namespace trireme::ops {
namespace {

std::vector<Type> slogdet_type(const TypeContext& c) {
  require_matrices("slogdet", c, 0, true);
  const Type result{c.operands[0].dtype, with_matrix(c.operands[0].shape, {}), ""};
  return {result, result};
}

// The product of the pivots of Gaussian elimination.
bool eliminate(const std::vector<Matrix>& operands, const std::vector<Matrix>& results) {
  const Matrix& a = operands[0];
  double &sign = results[0](0, 0), &log_abs = results[1](0, 0);
  sign = 1;
  log_abs = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    std::int64_t pivot = i;
    for (std::int64_t r = i + 1; r < a.rows; ++r) {
      if (std::abs(a(r, i)) > std::abs(a(pivot, i))) pivot = r;
    }
    if (a(pivot, i) == 0) {
      sign = 0;
      log_abs = -std::numeric_limits<double>::infinity();
      return true;
    }
    if (pivot != i) sign = -sign;
    for (std::int64_t j = 0; j < a.rows; ++j) std::swap(a(i, j), a(pivot, j));
    if (a(i, i) < 0) sign = -sign;
    log_abs += std::log(std::abs(a(i, i)));
    for (std::int64_t r = i + 1; r < a.rows; ++r) {
      const double factor = a(r, i) / a(i, i);
      for (std::int64_t j = i; j < a.rows; ++j) a(r, j) -= factor * a(i, j);
    }
  }
  return true;
}

// The gradient of log |det x| is the transposed inverse.
void slogdet_gradient_rule(GradientContext& c) {
  if (!c.has_gradient(1)) return c.accumulate(0, filled_like(c.operand(0), 0));
  const Value x = c.operand(0), one = filled_like(x, 1);
  const Value diagonal = lower_part(one, 1) - lower_part(one, 0);
  Shape shape = c.gradient(1).shape();
  shape.resize(shape.size() + 2, 1);
  const Value dy = reshape(c.gradient(1), {.shape = shape});
  c.accumulate(0, solve(transposed(x), diagonal * dy));
}

Sample slogdet_sample(std::vector<std::int64_t> shape, DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(shape), dtype)};
  s.tolerance = 1e-4;  // the condition numbers of random matrices
  return s;
}

}  // namespace

Op slogdet() {
  Op op("slogdet(x) -> sign, log_abs");
  op.doc =
      "The sign and the logarithm of the absolute value of the determinant of each matrix.\n"
      "The operand x is [..., n, n], f32 or f64; the results are [...].\n"
      "A singular matrix has sign 0 and logarithm -infinity; its gradient is Error(data) at run "
      "time.\n"
      "Computed in f64 by LAPACK.\n"
      "If an element is not finite, the results are NaN.";
  op.traits = bits(Trait::library);
  op.type = slogdet_type;
  op.row_wise = matrices_row_wise;
  op.mixed_axes = matrix_axes;
  op.flops = [](const ir::Op& o) {  // about: 2/3 n^3
    const Shape& shape = o.operands[0]->type.shape;
    return product(shape) * shape.back();
  };
  op.library_kernel = "slogdet";
  op.reference = matrix_reference("", eliminate, {0, 0});
  op.gradient = slogdet_gradient_rule;
  op.torch_reference = "torch.linalg.slogdet(x[0])";
  op.samples = {slogdet_sample({5, 5}),       slogdet_sample({4, 3, 3}),
                slogdet_sample({2, 3, 2, 2}), slogdet_sample({1, 1}),
                slogdet_sample({0, 3, 3}),    slogdet_sample({6, 6}, DType::f64)};
  return op;
}

}  // namespace trireme::ops
