#include "ops/common.h"

namespace trireme::ops {

Op abs() {
  Op op("abs(x)");
  op.doc =
      "The absolute value of each element; its gradient at 0 is 0.\n"
      "x has a numeric dtype.";
  op.traits = Trait::elementwise | Trait::cheap;
  op.type = same_type(Numbers::numeric);
  op.lower = pointwise(ExprOp::abs);
  op.reference = pointwise_reference([](double x) { return std::abs(x); });
  op.gradient = [](GradientContext& c) { c.accumulate(0, c.gradient() * sign(c.operand(0))); };
  op.torch_reference = "torch.abs(x[0])";
  op.samples = joined({elementwise_samples(1), elementwise_samples(1, -9, 9, DType::i64)});
  return op;
}

}  // namespace trireme::ops
