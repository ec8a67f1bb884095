#include "ops/common.h"

namespace trireme::ops {

Op sub() {
  Op op("sub(a, b)");
  op.doc =
      "The elementwise difference a - b.\n"
      "a and b have one numeric dtype and are broadcast to one shape.";
  op.traits = Trait::elementwise | Trait::cheap;
  op.gradient_ignores_operands = true;
  op.type = same_type(Numbers::numeric);
  op.lower = pointwise(ExprOp::sub);
  op.reference = pointwise_reference([](double a, double b) { return a - b; });
  op.gradient = [](GradientContext& c) {
    c.accumulate(0, c.gradient());
    if (c.needs_gradient(1)) c.accumulate(1, -c.gradient());
  };
  op.torch_reference = "x[0] - x[1]";
  op.samples = joined({elementwise_samples(2), elementwise_samples(2, -9, 9, DType::i64)});
  return op;
}

}  // namespace trireme::ops
