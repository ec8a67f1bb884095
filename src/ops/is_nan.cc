#include "ops/common.h"

namespace trireme::ops {

Op is_nan() {
  Op op("is_nan(x)");
  op.doc =
      "Whether the element is NaN.\n"
      "x is f32 or f64; the result is boolean.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_shape_to(DType::boolean, Numbers::floats);
  op.lower = pointwise([](Builder& k, Args x) { return k.binary(ExprOp::ne, x[0], x[0]); });
  op.reference = pointwise_reference([](double x) { return std::isnan(x); });
  op.torch_reference = "torch.isnan(x[0])";
  op.samples = joined({elementwise_samples(1), elementwise_samples(1, NAN, NAN)});
  return op;
}

}  // namespace trireme::ops
