#include "ops/common.h"

namespace trireme::ops {

Op mul() {
  Op op("mul(a, b)");
  op.doc =
      "The elementwise product a * b.\n"
      "a and b have one numeric dtype and are broadcast to one shape.";
  op.traits = Trait::elementwise | Trait::commutative | Trait::cheap;
  op.type = same_type(Numbers::numeric);
  op.lower = pointwise(ExprOp::mul);
  op.reference = pointwise_reference([](double a, double b) { return a * b; });
  op.gradient = [](GradientContext& c) {
    if (c.needs_gradient(0)) c.accumulate(0, c.gradient() * c.operand(1));
    if (c.needs_gradient(1)) c.accumulate(1, c.gradient() * c.operand(0));
  };
  op.torch_reference = "x[0] * x[1]";
  op.samples = joined({elementwise_samples(2), elementwise_samples(2, -9, 9, DType::i64)});
  return op;
}

}  // namespace trireme::ops
