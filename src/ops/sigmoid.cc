#include "ops/common.h"

namespace trireme::ops {

Op sigmoid() {
  Op op("sigmoid(x)");
  op.doc =
      "The logistic function 1 / (1 + exp(-x)) of each element.\n"
      "x is f32 or f64.";
  op.traits = bits(Trait::elementwise);
  op.gradient_ignores_operands = true;
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::sigmoid);
  op.reference = pointwise_reference([](double x) { return 1 / (1 + std::exp(-x)); });
  op.gradient = [](GradientContext& c) {
    c.accumulate(0, c.gradient() * (c.result() * (1.0 - c.result())));
  };
  op.torch_reference = "torch.sigmoid(x[0])";
  op.samples = elementwise_samples(1, -6, 6);
  return op;
}

}  // namespace trireme::ops
