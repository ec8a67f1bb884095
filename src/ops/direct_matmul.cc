#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> direct_matmul_type(const TypeContext& c) {
  const Type& a = c.operands[0];
  const Type& b = c.operands[1];
  const std::string pair = c.operand_texts[0] + ", " + c.operand_texts[1];
  const std::optional<DType> dtype = product_dtype(a.dtype, b.dtype);
  require(dtype.has_value(), "both matrices must have one dtype, f32 or f64: " + pair,
          "cast one of them; bytes (u8 or i8) are multiplied by i8 only");
  require(a.rank() >= 2 && b.rank() >= 2, "both operands must be matrices: " + pair,
          "reshape a vector to one row or one column");
  const Dim& inner = b.shape[b.shape.size() - 2];
  require(
      a.shape.back() == inner,
      "the inner dimensions differ (" + a.shape.back().str() + " and " + inner.str() + "): " + pair,
      "the last dimension of a must equal the second to last of b");
  require(b.rank() == 2 || Shape(a.shape.begin(), a.shape.end() - 2) ==
                               Shape(b.shape.begin(), b.shape.end() - 2),
          "the leading dimensions differ: " + pair,
          "b has the leading dimensions of a, or is one matrix for all of them");
  Type result = a;
  result.dtype = *dtype;
  result.shape.back() = b.shape.back();
  return {result};
}

void direct_matmul_reference(const Reference& r) {
  const RefTensor& a = *r.operands[0];
  const RefTensor& b = *r.operands[1];
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    Index ia = index;
    Index ib = b.shape.size() == 2 ? Index{0, index.back()} : index;
    double total = 0;
    for (std::int64_t i = 0; i < a.shape.back(); ++i) {
      ia.back() = ib[ib.size() - 2] = i;
      total += at(a, ia) * at(b, ib);
    }
    at(*r.results[0], index) = total;
  });
}

// Merges all leading dimensions into the rows of one matrix.
Value flattened(const Value& x) {
  const Shape rows(x.shape().begin(), x.shape().end() - 1);
  return reshape(x, {.shape = {product(rows), x.dim(-1)}});
}

void direct_matmul_gradient_rule(GradientContext& c) {
  const Value a = c.operand(0), b = c.operand(1), dy = c.gradient();
  if (c.needs_gradient(0)) c.accumulate(0, matmul(dy, b, {.transpose_b = true}));
  if (!c.needs_gradient(1)) return;
  c.accumulate(1, a.rank() == b.rank()
                      ? matmul(a, dy, {.transpose_a = true})
                      : matmul(flattened(a), flattened(dy), {.transpose_a = true}));
}

Sample direct_matmul_sample(std::vector<std::int64_t> a, std::vector<std::int64_t> b,
                            DType dtype = DType::f32) {
  Sample s;
  s.operands = {type_of(std::move(a), dtype), type_of(std::move(b), dtype)};
  return is_integer(dtype) ? of_bytes(s, dtype) : s;
}

}  // namespace

Op direct_matmul() {
  Op op("direct_matmul(a, b)");
  op.doc =
      "matmul without transposed operands: [..., m, k] by [..., k, n] or [k, n] is "
      "[..., m, n].\n"
      "The dtypes are those of matmul.\n"
      "It always becomes a generated kernel, fused with the elementwise ops that follow it.\n"
      "The compiler replaces matmul with it where that is faster.";
  op.traits = Trait::contraction | Trait::internal;
  op.type = direct_matmul_type;
  op.contraction = [](const ir::Op&) { return Contraction{}; };
  op.reference = direct_matmul_reference;
  op.gradient = direct_matmul_gradient_rule;
  op.torch_reference = "torch.matmul(*(t if t.is_floating_point() else t.double() for t in x))";
  op.samples = {direct_matmul_sample({5, 7}, {7, 3}),
                direct_matmul_sample({2, 5, 7}, {2, 7, 3}),
                direct_matmul_sample({2, 3, 5, 7}, {7, 4}),
                direct_matmul_sample({1, 1}, {1, 1}),
                direct_matmul_sample({0, 7}, {7, 3}),
                direct_matmul_sample({4, 0}, {0, 3}),
                direct_matmul_sample({0, 5, 7}, {7, 3}),
                direct_matmul_sample({64, 40}, {40, 33}),
                direct_matmul_sample({1, 20}, {20, 300}),
                direct_matmul_sample({29, 17}, {17, 128}),
                direct_matmul_sample({3, 25, 9}, {3, 9, 40}),
                direct_matmul_sample({13, 18}, {18, 33}, DType::u8),
                direct_matmul_sample({2, 5, 7}, {2, 7, 3}, DType::i8)};
  return op;
}

}  // namespace trireme::ops
