#include "ops/philox.h"

#include <algorithm>
#include <cmath>

namespace trireme::ops {
namespace {

using kernel_ir::Builder;
using kernel_ir::ExprOp;

constexpr std::uint32_t kMultiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
constexpr std::uint32_t kKeyStep[2] = {0x9E3779B9u, 0xBB67AE85u};
constexpr int kRounds = 10;
constexpr double kTwoPi = 6.283185307179586;

std::uint64_t product(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint64_t>(a) * b;
}
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }

}  // namespace

// --- On the host --------------------------------------------------------------------------------

PhiloxWords philox4x32_10(PhiloxWords c, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = product(kMultiplier[0], c[0]);
    const std::uint64_t p1 = product(kMultiplier[1], c[2]);
    c = {high(p1) ^ c[1] ^ key[0], low(p1), high(p0) ^ c[3] ^ key[1], low(p0)};
    key = {key[0] + kKeyStep[0], key[1] + kKeyStep[1]};
  }
  return c;
}

PhiloxWords random_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t position) {
  return philox4x32_10({low(position), high(position), low(stream), high(stream)},
                       {low(seed), high(seed)});
}

// f32 takes the upper 24 bits of one word, f64 27 and 26 bits of two.
double uniform_number(const PhiloxWords& words, DType dtype) {
  if (dtype == DType::f32) return (words[0] >> 8) * 0x1p-24;
  return (words[0] >> 5) * 0x1p-27 + (words[1] >> 6) * 0x1p-53;
}

// The radius is made of words 0 and 1, the angle of words 2 and 3. 1 - u is in (0, 1].
double normal_number(const PhiloxWords& words, DType dtype) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform_number(words, dtype)));
  const double turn = uniform_number({words[2], words[3], 0, 0}, dtype);
  return radius * std::cos(kTwoPi * turn);
}

std::int64_t bernoulli_threshold(double probability) {
  return static_cast<std::int64_t>(std::clamp(probability, 0.0, 1.0) * 0x1p32);
}

// --- As kernel IR -------------------------------------------------------------------------------

namespace {

ExprId low(Builder& k, ExprId x) { return k.binary(ExprOp::bit_and, x, k.integer(0xFFFFFFFF)); }
ExprId high(Builder& k, ExprId x) { return k.binary(ExprOp::shr, x, k.integer(32)); }
ExprId bit_xor(Builder& k, ExprId a, ExprId b) { return k.binary(ExprOp::bit_xor, a, b); }

// A number below 2^24 goes through i32, which vector units convert to f32 in one instruction.
ExprId scaled(Builder& k, ExprId word, int drop, double scale, DType dtype) {
  const ExprId kept = k.binary(ExprOp::shr, word, k.integer(drop));
  return k.mul(k.cast(k.cast(kept, DType::i32), dtype), k.constant(dtype, scale));
}

}  // namespace

PhiloxExprs random_words(Lowering& l, std::int64_t stream) {
  Builder& k = l.k();
  const ExprId position = l.linear(l.index(), l.op().result(l.result())->type.shape);
  const ExprId seed = l.run_seed();
  const auto half = [](std::uint32_t word) { return static_cast<std::int64_t>(word); };
  const auto stream_bits = static_cast<std::uint64_t>(stream);
  PhiloxExprs c = {low(k, position), high(k, position), k.integer(half(ops::low(stream_bits))),
                   k.integer(half(ops::high(stream_bits)))};
  std::array<ExprId, 2> key = {low(k, seed), high(k, seed)};
  for (int round = 0; round < kRounds; ++round) {
    const ExprId p0 = k.mul(c[0], k.integer(half(kMultiplier[0])));
    const ExprId p1 = k.mul(c[2], k.integer(half(kMultiplier[1])));
    c = {bit_xor(k, bit_xor(k, high(k, p1), c[1]), key[0]), low(k, p1),
         bit_xor(k, bit_xor(k, high(k, p0), c[3]), key[1]), low(k, p0)};
    for (std::size_t i = 0; i < 2; ++i) {
      key[i] = low(k, k.add(key[i], k.integer(half(kKeyStep[i]))));
    }
  }
  return c;
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
