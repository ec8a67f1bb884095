#include "ops/common.h"

namespace trireme::ops {
namespace {

ExprId lower_shift_left(Builder& k, Args x) {
  const DType dtype = k.type(x[0]);
  const auto bits = static_cast<std::int64_t>(8 * size_of(dtype));
  const ExprId zero = k.integer(0, dtype);
  ExprId inside = k.lt(x[1], k.integer(bits, dtype));
  if (!is_unsigned(dtype)) inside = k.logical_and(inside, k.le(zero, x[1]));
  return k.select(inside, k.binary(ExprOp::shl, x[0], x[1]), zero);
}

void shift_left_reference(const Reference& r) {
  const DType dtype = r.op.result()->type.dtype;
  const double bits = 8 * static_cast<double>(size_of(dtype));
  for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
    const double a = r.operands[0]->data[i], b = r.operands[1]->data[i];
    const double period = std::ldexp(1, static_cast<int>(bits));
    double shifted = b < 0 || b >= bits ? 0 : std::fmod(std::ldexp(a, static_cast<int>(b)), period);
    if (shifted < info_of(dtype).lowest_integer) shifted += period;
    if (shifted > info_of(dtype).highest_integer) shifted -= period;
    r.results[0]->data[i] = shifted;
  }
}

}  // namespace

Op shift_left() {
  Op op("shift_left(a, b)");
  op.doc =
      "Integers shifted to the left by b bits, elementwise: a * 2^b, of which the low bits are "
      "kept.\n"
      "A b that is negative or at least the number of bits gives 0."
      "\na and b have one integer dtype and are broadcast to one shape.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_type(Numbers::integers);
  op.lower = pointwise(lower_shift_left);
  op.reference = shift_left_reference;
  op.torch_reference =
      "torch.where((x[1] < 0) | (x[1] >= 32), 0, torch.bitwise_left_shift(x[0], x[1].clamp(0, "
      "31)))";
  for (Sample sample : elementwise_samples(2, 0, 1, DType::i32)) {
    sample.ranges = {{-99999, 99999}, {-2, 34}};
    op.samples.push_back(sample);
  }
  return op;
}

}  // namespace trireme::ops
