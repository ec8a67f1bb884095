#include "ops/common.h"

namespace trireme::ops {
namespace {

// The shift of kernel IR fills with zeros, so a negative number is inverted before and after it.
ExprId lower_shift_right(Builder& k, Args x) {
  const DType dtype = k.type(x[0]);
  const auto bits = static_cast<std::int64_t>(8 * size_of(dtype));
  const ExprId zero = k.integer(0, dtype);
  ExprId inside = k.lt(x[1], k.integer(bits, dtype));
  if (!is_unsigned(dtype)) inside = k.logical_and(inside, k.le(zero, x[1]));
  const auto shifted = [&](ExprId number) {
    return k.select(inside, k.binary(ExprOp::shr, number, x[1]), zero);
  };
  if (is_unsigned(dtype)) return shifted(x[0]);
  const ExprId ones = k.integer(-1, dtype);
  const auto inverted = [&](ExprId number) { return k.binary(ExprOp::bit_xor, number, ones); };
  return k.select(k.lt(x[0], zero), inverted(shifted(inverted(x[0]))), shifted(x[0]));
}

void shift_right_reference(const Reference& r) {
  const double bits = 8 * static_cast<double>(size_of(r.op.result()->type.dtype));
  for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
    const double a = r.operands[0]->data[i], b = r.operands[1]->data[i];
    r.results[0]->data[i] =
        b < 0 || b >= bits ? (a < 0 ? -1 : 0) : std::floor(std::ldexp(a, -static_cast<int>(b)));
  }
}

}  // namespace

Op shift_right() {
  Op op("shift_right(a, b)");
  op.doc =
      "Integers shifted to the right by b bits, elementwise: a / 2^b, rounded down.\n"
      "A b that is negative or at least the number of bits leaves the sign: 0, or -1 for a < 0."
      "\na and b have one integer dtype and are broadcast to one shape.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_type(Numbers::integers);
  op.lower = pointwise(lower_shift_right);
  op.reference = shift_right_reference;
  op.torch_reference =
      "torch.bitwise_right_shift(x[0], torch.where((x[1] < 0) | (x[1] >= 32), 31, x[1]))";
  for (Sample sample : elementwise_samples(2, 0, 1, DType::i32)) {
    sample.ranges = {{-99999, 99999}, {-2, 34}};
    op.samples.push_back(sample);
  }
  return op;
}

}  // namespace trireme::ops
