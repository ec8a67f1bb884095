#include "ops/common.h"

namespace trireme::ops {

Op ceil() {
  Op op("ceil(x)");
  op.doc =
      "The smallest whole number that is not less than the element.\n"
      "x is f32 or f64; the gradient is zero.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::ceil);
  op.reference = pointwise_reference([](double x) { return std::ceil(x); });
  op.torch_reference = "torch.ceil(x[0])";
  op.samples = elementwise_samples(1, -5, 5);
  return op;
}

}  // namespace trireme::ops
