#include "ops/common.h"

namespace trireme::ops {

Op less_equal() {
  Op op("less_equal(a, b)");
  op.doc =
      "Whether a is less than or equal to b, elementwise; false if either is NaN.\n"
      "a and b have one dtype (not bf16 or f16) and are broadcast to one shape; the result is "
      "boolean.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_shape_to(DType::boolean);
  op.lower = pointwise(ExprOp::le);
  op.reference = pointwise_reference([](double a, double b) { return a <= b; });
  op.torch_reference = "x[0] <= x[1]";
  op.samples = joined({elementwise_samples(2), elementwise_samples(2, 0, 3, DType::i64)});
  return op;
}

}  // namespace trireme::ops
