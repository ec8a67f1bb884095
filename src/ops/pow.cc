#include "ops/common.h"

namespace trireme::ops {

Op pow() {
  Op op("pow(a, b)");
  op.doc =
      "a to the power of b, elementwise.\n"
      "The gradient with respect to a is zero where b is 0.\n"
      "The gradient with respect to b is zero where a is 0 or less.\n"
      "a and b have one dtype, f32 or f64, and are broadcast to one shape.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::pow);
  op.reference = pointwise_reference([](double a, double b) { return std::pow(a, b); });
  op.gradient = [](GradientContext& c) {
    const Value a = c.operand(0), b = c.operand(1), g = c.gradient();
    if (c.needs_gradient(0)) {
      // The power 0 is constant; 0 * pow(0, -1) would be NaN.
      const Value zero = filled_like(b, 0), is_zero = equal(b, zero);
      const Value exponent = trireme::where(is_zero, zero, b - 1.0);
      c.accumulate(0, g * (b * pow(a, exponent)));
    }
    if (c.needs_gradient(1)) {
      const Value positive = logical_not(less_equal(a, filled_like(a, 0)));  // or NaN
      const Value safe = trireme::where(positive, a, filled_like(a, 1));
      c.accumulate(1, g * trireme::where(positive, c.result() * log(safe), filled_like(a, 0)));
    }
  };
  op.torch_reference = "torch.pow(x[0], x[1])";
  op.samples = elementwise_samples(2, 0.2, 3);
  return op;
}

}  // namespace trireme::ops
