#include "ops/common.h"

namespace trireme::ops {

Op erf() {
  Op op("erf(x)");
  op.doc =
      "The error function of each element.\n"
      "x is f32 or f64.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::erf);
  op.reference = pointwise_reference([](double x) { return std::erf(x); });
  op.gradient = [](GradientContext& c) {
    const Value x = c.operand(0);
    const double two_over_sqrt_pi = 1.1283791670955126;
    c.accumulate(0, c.gradient() * (two_over_sqrt_pi * exp(-(x * x))));
  };
  op.torch_reference = "torch.erf(x[0])";
  op.samples = elementwise_samples(1);
  return op;
}

}  // namespace trireme::ops
