#include "ops/common.h"

namespace trireme::ops {

Op neg() {
  Op op("neg(x)");
  op.doc =
      "Each element with the opposite sign.\n"
      "x has a numeric dtype.";
  op.traits = Trait::elementwise | Trait::cheap;
  op.type = same_type(Numbers::numeric);
  op.lower = pointwise(ExprOp::neg);
  op.reference = pointwise_reference([](double x) { return -x; });
  op.gradient = [](GradientContext& c) { c.accumulate(0, -c.gradient()); };
  op.torch_reference = "-x[0]";
  op.samples = joined({elementwise_samples(1), elementwise_samples(1, -9, 9, DType::i64)});
  return op;
}

}  // namespace trireme::ops
