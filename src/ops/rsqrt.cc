#include "ops/common.h"

namespace trireme::ops {

Op rsqrt() {
  Op op("rsqrt(x)");
  op.doc =
      "The reciprocal of the square root of each element.\n"
      "x is f32 or f64.";
  op.traits = Trait::elementwise | Trait::cheap;
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(
      [](Builder& k, Args x) { return k.div(number(k, x[0], 1), k.unary(ExprOp::sqrt, x[0])); });
  op.reference = pointwise_reference([](double x) { return 1 / std::sqrt(x); });
  op.gradient = [](GradientContext& c) {
    const Value r = c.result();
    c.accumulate(0, c.gradient() * (-0.5 * (r * r * r)));
  };
  op.torch_reference = "torch.rsqrt(x[0])";
  op.samples = elementwise_samples(1, 0.1, 4);
  return op;
}

}  // namespace trireme::ops
