#include "ops/flops.h"
#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> pack_words_type(const TypeContext& c) {
  const Type& w = c.operands[0];
  require(w.dtype == DType::i8 && w.rank() >= 2 && is_constant(w.shape),
          c.operand_texts[0] + " is not i8 [..., d, n] of constant sizes");
  const auto elements = get_attribute<std::int64_t>(c.attributes, "elements");
  require(elements == 2 || elements == 4, "a word has 2 or 4 elements");
  Type words = w;
  words.dtype = DType::i32;
  Dim& depth = words.shape[words.shape.size() - 2];
  depth = (depth.constant() + elements - 1) / elements;
  return {words};
}

ExprId lower_pack_words(Lowering& l) {
  Builder& k = l.k();
  const auto elements = get_attribute<std::int64_t>(l.op().attributes, "elements");
  const std::int64_t bits = 32 / elements;
  const Shape& shape = l.op().operands[0]->type.shape;
  const std::size_t axis = shape.size() - 2;
  std::vector<ExprId> index(l.index().begin(), l.index().end());
  const ExprId first = k.mul(index[axis], k.integer(elements));
  ExprId word = k.integer(0, DType::i32);
  for (std::int64_t i = 0; i < elements; ++i) {
    index[axis] = k.add(first, k.integer(i));
    const ExprId byte = l.load(0, index, k.lt(index[axis], l.dim(shape[axis])));
    const ExprId part = k.cast(k.bitcast(k.cast(byte, bits == 8 ? DType::i8 : DType::i16),
                                         bits == 8 ? DType::u8 : DType::u16),
                               DType::i32);
    word = k.logical_or(word, k.binary(ExprOp::shl, part, k.integer(bits * i, DType::i32)));
  }
  return word;
}

void pack_words_reference(const Reference& r) {
  const RefTensor& w = *r.operands[0];
  const auto elements = get_attribute<std::int64_t>(r.op.attributes, "elements");
  const std::int64_t base = elements == 4 ? 256 : 65536;
  const std::size_t axis = w.shape.size() - 2;
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    std::int64_t word = 0;
    for (std::int64_t i = elements - 1; i >= 0; --i) {
      Index from = index;
      from[axis] = elements * index[axis] + i;
      const auto byte = static_cast<std::int64_t>(from[axis] < w.shape[axis] ? at(w, from) : 0);
      word = base * word + (byte < 0 ? byte + base : byte);
    }
    at(*r.results[0], index) = static_cast<double>(static_cast<std::int32_t>(word));
  });
}

Sample pack_words_sample(std::vector<std::int64_t> w, std::int64_t elements) {
  Sample s;
  s.operands = {type_of(std::move(w), DType::i8)};
  s.attributes = {{"elements", elements}};
  s.low = -128;
  s.high = 128;
  return s;
}

}  // namespace

std::int64_t elements_of_word(DType x) {
  if (x == DType::i16) return 2;
  return x == DType::u8 || x == DType::i8 ? 4 : 0;
}

double part_of_word(double word, std::int64_t elements, std::int64_t number) {
  const auto bits = static_cast<std::uint32_t>(static_cast<std::int64_t>(word));
  if (elements == 2) return static_cast<std::int16_t>(bits >> (16 * number));
  return static_cast<std::int8_t>(bits >> (8 * number));
}

Op pack_words() {
  Op op("pack_words(w; elements: int = 4)");
  op.doc =
      "Joins elements along the second to last axis of w to words, the first one lowest.\n"
      "A word has four elements of 8 bits, or two that are extended to 16 bits.\n"
      "The weight w is i8 [..., d, n].\n"
      "The result is i32 [..., d / elements rounded up, n].\n"
      "Elements that are missing in the last word are 0.\n"
      "Kernels read weights of bytes in this form.";
  op.traits = bits(Trait::internal);
  op.no_gradient_reason = "of integers";
  op.type = pack_words_type;
  op.flops = no_flops();
  op.lower = lower_pack_words;
  op.reference = pack_words_reference;
  op.torch_reference =
      "(lambda p: sum((p[..., i, :] % 256 ** (4 // elements) if i < elements - 1 else "
      "p[..., i, :]) * 256 ** (4 // elements * i) for i in range(elements)).to(torch.int32))("
      "torch.nn.functional.pad(x[0].long(), (0, 0, 0, -x[0].shape[-2] % elements))"
      ".unflatten(-2, (-1, elements)))";
  op.samples = {pack_words_sample({8, 5}, 4),     pack_words_sample({3, 7, 4}, 4),
                pack_words_sample({1, 1}, 4),     pack_words_sample({0, 3}, 4),
                pack_words_sample({2, 9, 17}, 4), pack_words_sample({6, 5}, 2),
                pack_words_sample({3, 7, 4}, 2)};
  return op;
}

}  // namespace trireme::ops
