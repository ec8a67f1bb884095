#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> dot4_matmul_type(const TypeContext& c) {
  const Type& a = c.operands[0];
  const Type& words = c.operands[1];
  const std::string pair = c.operand_texts[0] + ", " + c.operand_texts[1];
  require((a.dtype == DType::u8 || a.dtype == DType::i8) && words.dtype == DType::i32,
          "a must be u8 or i8, and words i32: " + pair);
  require(a.rank() >= 2 && words.rank() == 2, "both operands must be matrices: " + pair);
  require(a.shape.back() == Dim(4) * words.shape[0],
          "a must have four bytes for each word of a column: " + pair);
  Type result = a;
  result.dtype = DType::i32;
  result.shape.back() = words.shape[1];
  return {result};
}

void dot4_matmul_reference(const Reference& r) {
  const RefTensor& a = *r.operands[0];
  const RefTensor& words = *r.operands[1];
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    Index ia = index;
    double total = 0;
    for (std::int64_t i = 0; i < a.shape.back(); ++i) {
      ia.back() = i;
      total += at(a, ia) * byte_of_word(at(words, {i / 4, index.back()}), i % 4);
    }
    at(*r.results[0], index) = total;
  });
}

Sample dot4_matmul_sample(std::vector<std::int64_t> a, std::vector<std::int64_t> words,
                          DType dtype = DType::u8) {
  Sample s;
  s.operands = {type_of(std::move(a), dtype), type_of(std::move(words), DType::i32)};
  s.ranges = {dtype == DType::u8 ? std::pair{0.0, 256.0} : std::pair{-128.0, 128.0},
              {-2147483648.0, 2147483648.0}};
  return s;
}

}  // namespace

double byte_of_word(double word, std::int64_t number) {
  const auto bits = static_cast<std::uint32_t>(static_cast<std::int64_t>(word));
  return static_cast<std::int8_t>(bits >> (8 * number));
}

Op dot4_matmul() {
  Op op("dot4_matmul(a, words)");
  op.doc =
      "The product of bytes a [..., m, k], u8 or i8, by a matrix of i8 that is packed in words by "
      "pack_words, i32 [k / 4, n].\n"
      "The result is i32 [..., m, n], whose sums wrap.\n"
      "It always becomes a generated kernel, fused with the elementwise ops that follow it.";
  op.traits = Trait::contraction | Trait::internal;
  op.no_gradient_reason = "of integers";
  op.type = dot4_matmul_type;
  op.contraction = [](const ir::Op&) { return Contraction{.words = true}; };
  op.reference = dot4_matmul_reference;
  op.torch_reference =
      "torch.matmul(x[0].double(), ((x[1].long()[:, None] >> torch.tensor([0, 8, 16, 24])[:, None] "
      "& 255) + 128 & 255).sub(128).flatten(0, 1).double()).to(torch.int32)";
  op.samples = {dot4_matmul_sample({5, 8}, {2, 3}),
                dot4_matmul_sample({2, 5, 12}, {3, 40}),
                dot4_matmul_sample({1, 4}, {1, 1}),
                dot4_matmul_sample({0, 8}, {2, 3}),
                dot4_matmul_sample({4, 0}, {0, 3}),
                dot4_matmul_sample({64, 40}, {10, 33}),
                dot4_matmul_sample({29, 20}, {5, 128}, DType::i8),
                dot4_matmul_sample({1, 20}, {5, 300}, DType::i8)};
  return op;
}

}  // namespace trireme::ops
