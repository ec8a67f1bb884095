#include "ops/common.h"

namespace trireme::ops {
namespace {

ExprId lower(Builder& k, Args x) {
  const ExprId rest = k.rem(x[0], x[1]);
  const ExprId zero = number(k, rest, 0);
  const ExprId differs =
      k.binary(ExprOp::ne, k.lt(rest, zero), k.lt(x[1], zero));  // of unequal signs
  const ExprId wrong = k.logical_and(differs, k.binary(ExprOp::ne, rest, zero));
  return k.select(wrong, k.add(rest, x[1]), rest);
}

double reference(double a, double b) {
  if (b == 0) return std::fmod(a, b);  // NaN
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// Divisors of both signs, never near zero.
std::vector<Sample> samples() {
  std::vector<Sample> samples;
  for (const auto& [low, high] : {std::pair{0.75, 2.0}, std::pair{-2.0, -0.75}}) {
    for (Sample sample : elementwise_samples(2)) {
      sample.ranges = {{-9, 9}, {low, high}};
      samples.push_back(sample);
    }
  }
  for (const auto& [low, high] : {std::pair{1.0, 7.0}, std::pair{-7.0, 0.0}}) {
    for (Sample sample : elementwise_samples(2, 0, 1, DType::i64)) {
      sample.ranges = {{-20, 20}, {low, high}};
      samples.push_back(sample);
    }
  }
  for (Sample sample : elementwise_samples(2, 1, 9, DType::u8)) samples.push_back(sample);
  return samples;
}

}  // namespace

Op floor_mod() {
  Op op("floor_mod(a, b)");
  op.doc =
      "a - b * floor(a / b): what is left of a divided by b, with the sign of b, as Python's `%`. "
      "Where b is 0, NaN for floats and 0 for integers.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::numeric);
  op.lower = pointwise(lower);
  op.reference = pointwise_reference(reference);
  op.gradient = [](GradientContext& c) {
    if (c.wants(0)) c.give(0, c.gradient());
    if (c.wants(1)) c.give(1, -(c.gradient() * floor(c.operand(0) / c.operand(1))));
  };
  op.twin = "torch.remainder(x[0], x[1])";
  op.samples = samples();
  return op;
}

}  // namespace trireme::ops
