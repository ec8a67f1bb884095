#include "ops/common.h"

namespace trireme::ops {

Op is_finite() {
  Op op("is_finite(x)");
  op.doc = "Whether the element is neither infinite nor NaN.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_shape_to(DType::boolean, Numbers::floats);
  op.lower = pointwise([](Builder& k, Args x) {
    return k.lt(k.unary(ExprOp::abs, x[0]), number(k, x[0], INFINITY));
  });
  op.reference = pointwise_reference([](double x) { return std::isfinite(x); });
  op.twin = "torch.isfinite(x[0])";
  // Up to 6e38, beyond the largest float: about half are infinite.
  op.samples = joined({elementwise_samples(1), elementwise_samples(1, -6e38, 6e38),
                       elementwise_samples(1, NAN, NAN)});
  return op;
}

}  // namespace trireme::ops
