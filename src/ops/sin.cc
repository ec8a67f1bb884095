#include "ops/common.h"

namespace trireme::ops {

Op sin() {
  Op op("sin(x)");
  op.doc =
      "The sine of each element, in radians.\n"
      "x is f32 or f64.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::sin);
  op.reference = pointwise_reference([](double x) { return std::sin(x); });
  op.gradient = [](GradientContext& c) { c.accumulate(0, c.gradient() * cos(c.operand(0))); };
  op.torch_reference = "torch.sin(x[0])";
  op.samples = elementwise_samples(1, -6, 6);
  return op;
}

}  // namespace trireme::ops
