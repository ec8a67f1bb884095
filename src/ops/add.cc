#include "ops/common.h"

namespace trireme::ops {

Op add() {
  Op op("add(a, b)");
  op.doc =
      "The elementwise sum a + b.\n"
      "a and b have one numeric dtype and are broadcast to one shape.";
  op.traits = Trait::elementwise | Trait::commutative | Trait::cheap;
  op.gradient_ignores_operands = true;
  op.type = same_type(Numbers::numeric);
  op.lower = pointwise(ExprOp::add);
  op.reference = pointwise_reference([](double a, double b) { return a + b; });
  op.gradient = [](GradientContext& c) {
    c.accumulate(0, c.gradient());
    c.accumulate(1, c.gradient());
  };
  op.torch_reference = "x[0] + x[1]";
  op.samples = joined({elementwise_samples(2), elementwise_samples(2, -9, 9, DType::i64)});
  return op;
}

}  // namespace trireme::ops
