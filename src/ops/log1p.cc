#include "ops/common.h"

namespace trireme::ops {

Op log1p() {
  Op op("log1p(x)");
  op.doc =
      "The natural logarithm of 1 + x for each element; accurate near 0.\n"
      "It is NaN if x is less than -1, and -inf if x is -1.\n"
      "x is f32 or f64.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::log1p);
  op.reference = pointwise_reference([](double x) { return std::log1p(x); });
  op.gradient = [](GradientContext& c) { c.accumulate(0, c.gradient() / (c.operand(0) + 1.0)); };
  op.torch_reference = "torch.log1p(x[0])";
  op.samples = joined({elementwise_samples(1, -0.75, 4), elementwise_samples(1, -1e-6, 1e-6)});
  return op;
}

}  // namespace trireme::ops
