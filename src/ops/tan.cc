#include "ops/common.h"

namespace trireme::ops {

Op tan() {
  Op op("tan(x)");
  op.doc =
      "The tangent of each element, in radians.\n"
      "x is f32 or f64.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::tan);
  op.reference = pointwise_reference([](double x) { return std::tan(x); });
  op.gradient = [](GradientContext& c) {
    c.accumulate(0, c.gradient() * (c.result() * c.result() + 1.0));
  };
  op.torch_reference = "torch.tan(x[0])";
  op.samples = joined({elementwise_samples(1, -1.25, 1.25), elementwise_samples(1, 2, 4.25)});
  return op;
}

}  // namespace trireme::ops
