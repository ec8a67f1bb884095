#include "ops/flops.h"
#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> pack_words_type(const TypeContext& c) {
  const Type& w = c.operands[0];
  require(w.dtype == DType::i8 && w.rank() >= 2 && is_constant(w.shape),
          c.operand_texts[0] + " is not i8 [..., d, n] of constant sizes");
  Type words = w;
  words.dtype = DType::i32;
  Dim& depth = words.shape[words.shape.size() - 2];
  depth = (depth.constant() + 3) / 4;
  return {words};
}

ExprId lower_pack_words(Lowering& l) {
  Builder& k = l.k();
  const Shape& shape = l.op().operands[0]->type.shape;
  const std::size_t axis = shape.size() - 2;
  std::vector<ExprId> index(l.index().begin(), l.index().end());
  const ExprId first = k.mul(index[axis], k.integer(4));
  ExprId word = k.integer(0, DType::i32);
  for (int i = 0; i < 4; ++i) {
    index[axis] = k.add(first, k.integer(i));
    const ExprId byte = l.load(0, index, k.lt(index[axis], l.dim(shape[axis])));
    const ExprId bits = k.cast(k.bitcast(byte, DType::u8), DType::i32);
    word = k.logical_or(word, k.binary(ExprOp::shl, bits, k.integer(8 * i, DType::i32)));
  }
  return word;
}

void pack_words_reference(const Reference& r) {
  const RefTensor& w = *r.operands[0];
  const std::size_t axis = w.shape.size() - 2;
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    std::int64_t word = 0;
    for (int i = 3; i >= 0; --i) {
      Index from = index;
      from[axis] = 4 * index[axis] + i;
      const double byte = from[axis] < w.shape[axis] ? at(w, from) : 0;
      word = 256 * word + static_cast<std::int64_t>(byte < 0 ? byte + 256 : byte);
    }
    at(*r.results[0], index) = static_cast<double>(static_cast<std::int32_t>(word));
  });
}

Sample pack_words_sample(std::vector<std::int64_t> w) {
  Sample s;
  s.operands = {type_of(std::move(w), DType::i8)};
  s.low = -128;
  s.high = 128;
  return s;
}

}  // namespace

Op pack_words() {
  Op op("pack_words(w)");
  op.doc =
      "Joins four bytes along the second to last axis of w to a word, the first byte lowest.\n"
      "w is i8 [..., d, n] and the result i32 [..., d / 4 rounded up, n].\n"
      "Bytes that are missing in the last word are 0.\n"
      "Kernels read weights of bytes in this form.";
  op.traits = bits(Trait::internal);
  op.no_gradient_reason = "of integers";
  op.type = pack_words_type;
  op.flops = no_flops();
  op.lower = lower_pack_words;
  op.reference = pack_words_reference;
  op.torch_reference =
      "(lambda p: (p[..., 0, :] % 256 + p[..., 1, :] % 256 * 256 + p[..., 2, :] % 256 * 65536 + "
      "p[..., 3, :] * 16777216).to(torch.int32))(torch.nn.functional.pad(x[0].long(), "
      "(0, 0, 0, -x[0].shape[-2] % 4)).unflatten(-2, (-1, 4)))";
  op.samples = {pack_words_sample({8, 5}), pack_words_sample({3, 7, 4}), pack_words_sample({1, 1}),
                pack_words_sample({0, 3}), pack_words_sample({2, 9, 17})};
  return op;
}

}  // namespace trireme::ops
