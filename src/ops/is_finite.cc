#include "ops/common.h"

namespace trireme::ops {

Op is_finite() {
  Op op("is_finite(x)");
  op.doc =
      "Whether the element is neither infinite nor NaN.\n"
      "x is f32 or f64; the result is boolean.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_shape_to(DType::boolean, Numbers::floats);
  op.lower = pointwise([](Builder& k, Args x) {
    return k.lt(k.unary(ExprOp::abs, x[0]), number(k, x[0], INFINITY));
  });
  op.reference = pointwise_reference([](double x) { return std::isfinite(x); });
  op.torch_reference = "torch.isfinite(x[0])";
  // Values up to 6e38 exceed the largest float: about half become infinite.
  op.samples = joined({elementwise_samples(1), elementwise_samples(1, -6e38, 6e38),
                       elementwise_samples(1, NAN, NAN)});
  return op;
}

}  // namespace trireme::ops
