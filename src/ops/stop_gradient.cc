#include "ops/common.h"

namespace trireme::ops {

Op stop_gradient() {
  Op op("stop_gradient(x)");
  op.doc = "The operand itself, taken as a constant by differentiation.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_type(Numbers::any);
  op.lower = pointwise([](Builder&, Args x) { return x[0]; });
  op.reference = pointwise_reference([](double x) { return x; });
  op.twin = "x[0].detach()";
  op.samples = elementwise_samples(1);
  // To give zero where the function has a slope is what this op is for.
  for (Sample& sample : op.samples) sample.check_gradient = false;
  return op;
}

}  // namespace trireme::ops
