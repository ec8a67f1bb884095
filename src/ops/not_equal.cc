#include "ops/common.h"

namespace trireme::ops {

Op not_equal() {
  Op op("not_equal(a, b)");
  op.doc =
      "Whether a differs from b, elementwise; true if either is NaN.\n"
      "a and b have one dtype (not bf16 or f16) and are broadcast to one shape; the result is "
      "boolean.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable | Trait::commutative;
  op.type = same_shape_to(DType::boolean);
  op.lower = pointwise(ExprOp::ne);
  op.reference = pointwise_reference([](double a, double b) { return a != b; });
  op.torch_reference = "x[0] != x[1]";
  op.samples = joined({elementwise_samples(2), elementwise_samples(2, 0, 3, DType::i64)});
  return op;
}

}  // namespace trireme::ops
