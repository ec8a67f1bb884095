#include <algorithm>

#include "ops/common.h"

namespace trireme::ops {

Op minimum() {
  Op op("minimum(a, b)");
  op.doc =
      "The smaller of a and b, elementwise; NaN if either is NaN.\n"
      "If they are equal, b gets the gradient.\n"
      "a and b have one dtype (not bf16 or f16) and are broadcast to one shape.";
  op.traits = Trait::elementwise | Trait::cheap;
  op.type = same_type(Numbers::ordered);
  op.lower = pointwise(ExprOp::min);
  op.reference = pointwise_reference(
      [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); });
  // Compares with the result instead of a, so that relu need not keep its operand.
  op.gradient = [](GradientContext& c) {
    const Value b = c.operand(1), g = c.gradient();
    const Value zero = filled_like(g, 0);
    const Value first = c.result() < b;
    if (c.needs_gradient(0)) c.accumulate(0, trireme::where(first, g, zero));
    if (c.needs_gradient(1)) c.accumulate(1, trireme::where(first, zero, g));
  };
  op.torch_reference = "torch.minimum(x[0], x[1])";
  op.samples = joined({elementwise_samples(2), elementwise_samples(2, -9, 9, DType::i64)});
  return op;
}

}  // namespace trireme::ops
