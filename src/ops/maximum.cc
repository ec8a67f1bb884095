#include <algorithm>

#include "ops/extremum.h"

namespace trireme::ops {

Op maximum() {
  Op op("maximum(a, b)");
  op.doc =
      "The larger of a and b, elementwise; NaN if either is NaN.\n"
      "If they are equal, both get half of the gradient, but a number gets all of it.\n"
      "a and b have one dtype (not bf16 or f16) and are broadcast to one shape.";
  op.traits = Trait::elementwise | Trait::cheap;
  op.type = same_type(Numbers::ordered);
  op.lower = pointwise(ExprOp::max);
  op.reference = pointwise_reference(
      [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); });
  op.gradient = [](GradientContext& c) { extremum_of_two_gradient(c, true); };
  op.torch_reference = "torch.maximum(x[0], x[1])";
  op.samples = joined({elementwise_samples(2), elementwise_samples(2, -9, 9, DType::i64)});
  return op;
}

}  // namespace trireme::ops
