#include "ops/common.h"

namespace trireme::ops {

Op sqrt() {
  Op op("sqrt(x)");
  op.doc =
      "The square root of each element; NaN for negative elements.\n"
      "x is f32 or f64.";
  op.traits = Trait::elementwise | Trait::cheap;
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::sqrt);
  op.reference = pointwise_reference([](double x) { return std::sqrt(x); });
  op.gradient = [](GradientContext& c) { c.accumulate(0, c.gradient() * 0.5 / c.result()); };
  op.torch_reference = "torch.sqrt(x[0])";
  op.samples = elementwise_samples(1, 0.1, 4);
  return op;
}

}  // namespace trireme::ops
