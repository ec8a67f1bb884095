#include "ops/common.h"

namespace trireme::ops {

Op expm1() {
  Op op("expm1(x)");
  op.doc =
      "e to the power of each element, minus 1; accurate near 0.\n"
      "x is f32 or f64.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::expm1);
  op.reference = pointwise_reference([](double x) { return std::expm1(x); });
  // Not the result plus 1, which rounds to 0 where the slope is small.
  op.gradient = [](GradientContext& c) { c.accumulate(0, c.gradient() * exp(c.operand(0))); };
  op.torch_reference = "torch.expm1(x[0])";
  op.samples = joined({elementwise_samples(1), elementwise_samples(1, -1e-6, 1e-6)});
  return op;
}

}  // namespace trireme::ops
