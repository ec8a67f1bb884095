#include "ops/common.h"

namespace trireme::ops {

Op floor() {
  Op op("floor(x)");
  op.doc =
      "The largest whole number that is not greater than the element.\n"
      "x is f32 or f64; the gradient is zero.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::floor);
  op.reference = pointwise_reference([](double x) { return std::floor(x); });
  op.torch_reference = "torch.floor(x[0])";
  op.samples = elementwise_samples(1, -5, 5);
  return op;
}

}  // namespace trireme::ops
