#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> word_matmul_type(const TypeContext& c) {
  const Type& a = c.operands[0];
  const Type& words = c.operands[1];
  const std::string pair = c.operand_texts[0] + ", " + c.operand_texts[1];
  const std::int64_t elements = elements_of_word(a.dtype);
  require(elements > 0 && words.dtype == DType::i32,
          "a must be u8, i8 or i16, and words i32: " + pair);
  require(a.rank() >= 2 && words.rank() == 2, "both operands must be matrices: " + pair);
  require(a.shape.back() == Dim(elements) * words.shape[0],
          "the columns of a must be the elements of the words of a column: " + pair);
  Type result = a;
  result.dtype = DType::i32;
  result.shape.back() = words.shape[1];
  return {result};
}

void word_matmul_reference(const Reference& r) {
  const RefTensor& a = *r.operands[0];
  const RefTensor& words = *r.operands[1];
  const std::int64_t n = elements_of_word(r.op.operands[0]->type.dtype);
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    Index ia = index;
    double total = 0;
    for (std::int64_t i = 0; i < a.shape.back(); ++i) {
      ia.back() = i;
      total += at(a, ia) * part_of_word(at(words, {i / n, index.back()}), n, i % n);
    }
    at(*r.results[0], index) = total;
  });
}

Sample word_matmul_sample(std::vector<std::int64_t> a, std::vector<std::int64_t> words,
                          DType dtype = DType::u8) {
  Sample s;
  s.operands = {type_of(std::move(a), dtype), type_of(std::move(words), DType::i32)};
  s.ranges = {dtype == DType::u8 ? std::pair{0.0, 256.0} : std::pair{-128.0, 128.0},
              {-2147483648.0, 2147483648.0}};
  return s;
}

}  // namespace

Op word_matmul() {
  Op op("word_matmul(a, words)");
  op.doc =
      "The product of a [..., m, k] by a matrix that is packed in words by pack_words.\n"
      "If a is u8 or i8, words is i32 [k / 4, n]. If a is i16, words is i32 [k / 2, n].\n"
      "The result is i32 [..., m, n], whose sums wrap.\n"
      "It always becomes a generated kernel, fused with the elementwise ops that follow it.";
  op.traits = Trait::contraction | Trait::internal;
  op.no_gradient_reason = "of integers";
  op.type = word_matmul_type;
  op.contraction = [](const ir::Op& o) {
    return Contraction{.words = elements_of_word(o.operands[0]->type.dtype)};
  };
  op.reference = word_matmul_reference;
  op.torch_reference =
      "torch.matmul(x[0].double(), torch.cat([x[1].contiguous().view(torch.int16 if x[0].dtype == "
      "torch.int16 else torch.int8).unflatten(1, (x[1].shape[1], -1)).transpose(1, 2)]).flatten(0, "
      "1).double()).to(torch.int32)";
  op.samples = {word_matmul_sample({5, 8}, {2, 3}),
                word_matmul_sample({2, 5, 12}, {3, 40}),
                word_matmul_sample({1, 4}, {1, 1}),
                word_matmul_sample({0, 8}, {2, 3}),
                word_matmul_sample({4, 0}, {0, 3}),
                word_matmul_sample({64, 40}, {10, 33}),
                word_matmul_sample({29, 20}, {5, 128}, DType::i8),
                word_matmul_sample({1, 20}, {5, 300}, DType::i8),
                word_matmul_sample({13, 10}, {5, 33}, DType::i16)};
  return op;
}

}  // namespace trireme::ops
