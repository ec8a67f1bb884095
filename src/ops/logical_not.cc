#include "ops/common.h"

namespace trireme::ops {

Op logical_not() {
  Op op("logical_not(x)");
  op.doc =
      "Whether the element is false.\n"
      "x is boolean.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_type(Numbers::booleans);
  op.lower = pointwise(ExprOp::logical_not);
  op.reference = pointwise_reference([](double x) { return x == 0; });
  op.torch_reference = "torch.logical_not(x[0])";
  op.samples = elementwise_samples(1, 0, 2, DType::boolean);
  return op;
}

}  // namespace trireme::ops
