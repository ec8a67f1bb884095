#include "ops/common.h"

namespace trireme::ops {
namespace {

ExprId lower_floor_mod(Builder& k, Args x) {
  const ExprId rest = k.rem(x[0], x[1]);
  const ExprId zero = number(k, rest, 0);
  const ExprId differs =
      k.binary(ExprOp::ne, k.lt(rest, zero), k.lt(x[1], zero));  // the signs differ
  const ExprId wrong = k.logical_and(differs, k.binary(ExprOp::ne, rest, zero));
  return k.select(wrong, k.add(rest, x[1]), rest);
}

double floored_remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

void floor_mod_reference(const Reference& r) {
  const bool integer = is_integer(r.op.result()->type.dtype);
  for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
    const double a = r.operands[0]->data[i], b = r.operands[1]->data[i];
    r.results[0]->data[i] = integer && b == 0 ? 0 : floored_remainder(a, b);
  }
}

// Divisors of both signs. They are never near zero, except that integers may be zero.
std::vector<Sample> floor_mod_samples() {
  std::vector<Sample> samples;
  for (const auto& [low, high] : {std::pair{0.75, 2.0}, std::pair{-2.0, -0.75}}) {
    for (Sample sample : elementwise_samples(2)) {
      sample.ranges = {{-9, 9}, {low, high}};
      samples.push_back(sample);
    }
  }
  for (const auto& [low, high] :
       {std::pair{1.0, 7.0}, std::pair{-7.0, 0.0}, std::pair{-2.0, 3.0}}) {
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
      "The elementwise remainder a - b * floor(a / b), with the sign of b, like `%` in "
      "Python.\n"
      "If b is 0, the result is NaN for floats and 0 for integers.\n"
      "a and b have one numeric dtype and are broadcast to one shape.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::numeric);
  op.lower = pointwise(lower_floor_mod);
  op.reference = floor_mod_reference;
  op.gradient = [](GradientContext& c) {
    if (c.needs_gradient(0)) c.accumulate(0, c.gradient());
    if (!c.needs_gradient(1)) return;
    // The floor of a / b would differ where that is rounded.
    const Value whole = round((c.operand(0) - c.result()) / c.operand(1));
    c.accumulate(1, -(c.gradient() * whole));
  };
  op.torch_reference =
      "torch.remainder(x[0], x[1]) if x[0].is_floating_point() else "
      "torch.where(x[1] == 0, 0 * x[0], torch.remainder(x[0], x[1] + (x[1] == 0)))";
  op.samples = floor_mod_samples();
  return op;
}

}  // namespace trireme::ops
