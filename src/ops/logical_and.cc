#include "ops/common.h"

namespace trireme::ops {

Op logical_and() {
  Op op("logical_and(a, b)");
  op.doc =
      "Whether a and b are both true, elementwise.\n"
      "a and b are boolean and are broadcast to one shape.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable | Trait::commutative;
  op.type = same_type(Numbers::booleans);
  op.lower = pointwise(ExprOp::bit_and);
  op.reference = pointwise_reference([](double a, double b) { return a != 0 && b != 0; });
  op.torch_reference = "torch.logical_and(x[0], x[1])";
  op.samples = elementwise_samples(2, 0, 2, DType::boolean);
  return op;
}

}  // namespace trireme::ops
