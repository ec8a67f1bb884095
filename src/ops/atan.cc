#include "ops/common.h"

namespace trireme::ops {

Op atan() {
  Op op("atan(x)");
  op.doc =
      "The arctangent of each element, in radians between -pi/2 and pi/2.\n"
      "x is f32 or f64.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::atan);
  op.reference = pointwise_reference([](double x) { return std::atan(x); });
  op.gradient = [](GradientContext& c) {
    c.accumulate(0, c.gradient() / (c.operand(0) * c.operand(0) + 1.0));
  };
  op.torch_reference = "torch.atan(x[0])";
  op.samples = joined({elementwise_samples(1), elementwise_samples(1, -30, 30)});
  return op;
}

}  // namespace trireme::ops
