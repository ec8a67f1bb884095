#include "ops/common.h"

namespace trireme::ops {

Op tanh() {
  Op op("tanh(x)");
  op.doc =
      "The hyperbolic tangent of each element.\n"
      "x is f32 or f64.";
  op.traits = bits(Trait::elementwise);
  op.gradient_ignores_operands = true;
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::tanh);
  op.reference = pointwise_reference([](double x) { return std::tanh(x); });
  op.gradient = [](GradientContext& c) {
    c.accumulate(0, c.gradient() * (1.0 - c.result() * c.result()));
  };
  op.torch_reference = "torch.tanh(x[0])";
  op.samples = elementwise_samples(1);
  return op;
}

}  // namespace trireme::ops
