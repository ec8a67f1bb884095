#include "ops/common.h"

namespace trireme::ops {

Op log() {
  Op op("log(x)");
  op.doc =
      "The natural logarithm of each element; NaN for negative elements and -inf for 0.\n"
      "x is f32 or f64.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::log);
  op.reference = pointwise_reference([](double x) { return std::log(x); });
  op.gradient = [](GradientContext& c) { c.accumulate(0, c.gradient() / c.operand(0)); };
  op.torch_reference = "torch.log(x[0])";
  op.samples = elementwise_samples(1, 0.1, 4);
  return op;
}

}  // namespace trireme::ops
