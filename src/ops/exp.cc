#include "ops/common.h"

namespace trireme::ops {

Op exp() {
  Op op("exp(x)");
  op.doc =
      "e to the power of each element.\n"
      "x is f32 or f64.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::exp);
  op.reference = pointwise_reference([](double x) { return std::exp(x); });
  op.gradient = [](GradientContext& c) { c.accumulate(0, c.gradient() * c.result()); };
  op.torch_reference = "torch.exp(x[0])";
  op.samples = elementwise_samples(1);
  return op;
}

}  // namespace trireme::ops
