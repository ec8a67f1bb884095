// Matrix products.

#include "onnx/ops/operators.h"
#include "trireme/functions.h"
#include "trireme/linalg.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

// Integers as f64, which holds their products below 2^53.
Value matrix_product(const Value& a, const Value& b) {
  const DType dtype = a.dtype();
  if (!is_arithmetic_float(dtype)) {
    const auto wide = [](const Value& x) { return cast(x, {.dtype = f64}); };
    return cast(matrix_product(wide(a), wide(b)), {.dtype = dtype});
  }
  return broadcast_matmul(a, b);
}

void import_mat_mul(NodeContext& n) { n.set(0, matrix_product(n.value(0), n.value(1))); }

void import_gemm(NodeContext& n) {
  const double alpha = n.number("alpha", 1), beta = n.number("beta", 1);
  Value a = n.value(0), b = n.value(1);
  const DType dtype = a.dtype();
  const bool whole = !is_arithmetic_float(dtype);
  const auto wide = [&](const Value& x) { return whole ? cast(x, {.dtype = f64}) : x; };
  Value y = matmul(
      wide(a), wide(b),
      {.transpose_a = n.integer("transA", 0) != 0, .transpose_b = n.integer("transB", 0) != 0});
  if (alpha != 1) y = y * alpha;
  if (n.has(2) && beta != 0) {
    const Value c = wide(n.value(2));
    y = y + (beta == 1 ? c : c * beta);
  }
  n.set(0, whole ? cast(y, {.dtype = dtype}) : y);
}

void import_einsum(NodeContext& n) {
  std::vector<Value> operands;
  for (std::size_t i = 0; i < n.inputs(); ++i) operands.push_back(n.value(i));
  n.set(0, einsum(n.text("equation", ""), operands));
}

void import_det(NodeContext& n) { n.set(0, det(n.value(0))); }

constexpr Operator kProductsOperators[] = {
    {"", "Det", import_det},
    {"", "Einsum", import_einsum},
    {"", "Gemm", import_gemm},
    {"", "MatMul", import_mat_mul},
};

}  // namespace

Operators product_operators() { return kProductsOperators; }

}  // namespace trireme::onnx
