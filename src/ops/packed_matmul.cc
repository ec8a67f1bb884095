#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> packed_matmul_type(const TypeContext& c) {
  const Type& a = c.operands[0];
  const Type& b = c.operands[1];
  const std::string pair = c.operand_texts[0] + ", " + c.operand_texts[1];
  require(is_arithmetic_float(a.dtype) && a.dtype == b.dtype,
          "both matrices must have one dtype, f32 or f64: " + pair, "cast one of them");
  require(a.rank() == 2 && b.rank() == 3,
          "a must be a matrix and b packed strips of columns: " + pair,
          "b is [n / width, k, width]");
  require(a.shape[1] == b.shape[1],
          "the inner dimensions differ (" + a.shape[1].str() + " and " + b.shape[1].str() +
              "): " + pair,
          "the last dimension of a must equal the middle dimension of b");
  return {Type{a.dtype, {a.shape[0], b.shape[0] * b.shape[2]}}};
}

void packed_matmul_reference(const Reference& r) {
  const RefTensor& a = *r.operands[0];
  const RefTensor& b = *r.operands[1];
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    const std::int64_t width = b.shape[2];
    double total = 0;
    for (std::int64_t i = 0; i < a.shape[1]; ++i) {
      total += at(a, {index[0], i}) * at(b, {index[1] / width, i, index[1] % width});
    }
    at(*r.results[0], index) = total;
  });
}

Sample packed_matmul_sample(std::vector<std::int64_t> a, std::vector<std::int64_t> b,
                            DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(a), dtype), type_of(std::move(b), dtype)};
  return s;
}

}  // namespace

Op packed_matmul() {
  Op op("packed_matmul(a, b)");
  op.doc =
      "The matrix product of a [m, k] and a matrix [k, n] that is packed in strips of columns.\n"
      "b contains the strips: [n / width, k, width].\n"
      "a and b are f32 or f64.\n"
      "It always becomes a generated kernel, fused with the elementwise ops that follow it.\n"
      "The compiler replaces matmul with it if one matrix is used for many rows or many "
      "times.\n"
      "It does so after differentiation; the op has no gradient.";
  op.traits = Trait::contraction | Trait::internal;
  op.no_gradient_reason = "the compiler makes it after differentiation";
  op.type = packed_matmul_type;
  op.contraction = [](const ir::Op&) { return Contraction{}; };
  op.reference = packed_matmul_reference;
  op.torch_reference = "torch.matmul(x[0], x[1].permute(1, 0, 2).reshape(x[1].shape[1], -1))";
  op.samples = {packed_matmul_sample({5, 7}, {3, 7, 4}),
                packed_matmul_sample({1, 1}, {1, 1, 1}),
                packed_matmul_sample({0, 7}, {2, 7, 16}),
                packed_matmul_sample({4, 0}, {2, 0, 16}),
                packed_matmul_sample({64, 40}, {1, 40, 32}),
                packed_matmul_sample({70, 20}, {9, 20, 32}),
                packed_matmul_sample({29, 17}, {8, 17, 16}),
                packed_matmul_sample({13, 9}, {5, 9, 32}, DType::f64)};
  return op;
}

}  // namespace trireme::ops
