#include "ops/philox.h"

#include <algorithm>
#include <string>

#include "ir/builder.h"

namespace trireme::ops {
namespace {

using kernel_ir::Builder;
using kernel_ir::ExprOp;

constexpr double kTwoPi = 6.283185307179586;

ExprId low(Builder& k, ExprId x) { return k.binary(ExprOp::bit_and, x, k.integer(0xFFFFFFFF)); }
ExprId high(Builder& k, ExprId x) { return k.binary(ExprOp::shr, x, k.integer(32)); }
ExprId bit_xor(Builder& k, ExprId a, ExprId b) { return k.binary(ExprOp::bit_xor, a, b); }

// Goes through i32, because vector units convert i32 to f32 in one instruction. The kept bits of
// the word are below 2^31.
ExprId scaled(Builder& k, ExprId word, int drop, double scale, DType dtype) {
  const ExprId kept = k.binary(ExprOp::shr, word, k.integer(drop));
  return k.mul(k.cast(k.cast(kept, DType::i32), dtype), k.constant(dtype, scale));
}

ExprId position_of(Lowering& l) {
  return l.linear(l.index(), l.op().result(l.result())->type.shape);
}

PhiloxExprs words_at(Lowering& l, std::int64_t stream, ExprId position) {
  Builder& k = l.k();
  const ExprId seed = l.run_seed();
  const auto half = [](std::uint32_t word) { return static_cast<std::int64_t>(word); };
  const auto stream_bits = static_cast<std::uint64_t>(stream);
  PhiloxExprs c = {low(k, position), high(k, position),
                   k.integer(half(static_cast<std::uint32_t>(stream_bits))),
                   k.integer(half(static_cast<std::uint32_t>(stream_bits >> 32)))};
  std::array<ExprId, 2> key = {low(k, seed), high(k, seed)};
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const ExprId p0 = k.mul(c[0], k.integer(half(kPhiloxMultiplier[0])));
    const ExprId p1 = k.mul(c[2], k.integer(half(kPhiloxMultiplier[1])));
    c = {bit_xor(k, bit_xor(k, high(k, p1), c[1]), key[0]), low(k, p1),
         bit_xor(k, bit_xor(k, high(k, p0), c[3]), key[1]), low(k, p0)};
    for (std::size_t i = 0; i < 2; ++i) {
      key[i] = low(k, k.add(key[i], k.integer(half(kPhiloxKeyStep[i]))));
    }
  }
  return c;
}

}  // namespace

TypeRule random_type(Numbers numbers) {
  return [numbers](const TypeContext& context) {
    require(get_attribute<std::int64_t>(context.attributes, "stream") >= 0,
            "a stream must not be negative", "leave it out for a stream of its own");
    return type_of_attributes(numbers)(context);
  };
}

void choose_stream(ir::Builder& builder, std::string_view op, Attributes& attributes) {
  for (NamedAttribute& attribute : attributes) {
    if (attribute.name != "stream") continue;
    auto& stream = std::get<std::int64_t>(attribute.value);
    if (stream != -1) return;
    const std::string layer = builder.layer().empty() ? "" : builder.layer() + "/";
    stream = static_cast<std::int64_t>(stream_named(layer + builder.unique_name(op)) >> 1);
  }
}

double uniform_number(const PhiloxWords& words, DType dtype) {
  return dtype == DType::f32 ? uniform_24(words) : uniform_53(words);
}

double normal_number(const PhiloxWords& words, DType dtype) {
  return dtype == DType::f32 ? normal_24(words) : normal_53(words);
}

std::int64_t bernoulli_threshold(double probability) {
  return static_cast<std::int64_t>(std::clamp(probability, 0.0, 1.0) * 0x1p32);
}

PhiloxExprs random_words(Lowering& l, std::int64_t stream) {
  return words_at(l, stream, position_of(l));
}

ExprId random_word(Lowering& l, std::int64_t stream) {
  Builder& k = l.k();
  const ExprId position = position_of(l);
  const PhiloxExprs keys =
      words_at(l, stream, k.integer(static_cast<std::int64_t>(kPhiloxKeyPosition)));
  ExprId key = keys[0];
  std::array<ExprId, 2> c = {position, bit_xor(k, high(k, position), keys[1])};
  // The upper halves of words are not cleared: products read only the lower half.
  for (int round = 0; round < kPhilox2Rounds; ++round) {
    const ExprId p = k.mul(low(k, c[0]), k.integer(std::int64_t{kPhilox2Multiplier}));
    c = {bit_xor(k, bit_xor(k, high(k, p), key), c[1]), p};
    key = low(k, k.add(key, k.integer(std::int64_t{kPhilox2KeyStep})));
  }
  return low(k, c[0]);
}

ExprId uniform_number(Builder& k, const PhiloxExprs& words, DType dtype) {
  if (dtype == DType::f32) return scaled(k, words[0], 8, 0x1p-24, dtype);
  return k.add(scaled(k, words[0], 5, 0x1p-27, dtype), scaled(k, words[1], 6, 0x1p-53, dtype));
}

ExprId normal_number(Builder& k, const PhiloxExprs& words, DType dtype) {
  const ExprId rest = k.sub(k.constant(dtype, 1), uniform_number(k, words, dtype));
  const ExprId radius =
      k.unary(ExprOp::sqrt, k.mul(k.constant(dtype, -2), k.unary(ExprOp::log, rest)));
  const ExprId turn =
      uniform_number(k, {words[2], words[3], kernel_ir::kNoExpr, kernel_ir::kNoExpr}, dtype);
  const ExprId angle = k.mul(k.constant(dtype, kTwoPi), turn);
  return k.mul(radius, k.unary(ExprOp::cos, angle));
}

}  // namespace trireme::ops
