#include "ops/common.h"

namespace trireme::ops {

Op erfc() {
  Op op("erfc(x)");
  op.doc =
      "1 - erf(x) of each element, without the loss of digits where erf(x) is close to 1.\n"
      "x is f32 or f64.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::erfc);
  op.reference = pointwise_reference([](double x) { return std::erfc(x); });
  op.gradient = [](GradientContext& c) {
    const Value x = c.operand(0);
    const double two_over_sqrt_pi = 1.1283791670955126;
    c.accumulate(0, c.gradient() * (-two_over_sqrt_pi * exp(-(x * x))));
  };
  op.torch_reference = "torch.special.erfc(x[0])";
  op.samples = joined({elementwise_samples(1), elementwise_samples(1, -9, 9)});
  return op;
}

}  // namespace trireme::ops
