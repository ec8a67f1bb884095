#include "ops/common.h"

namespace trireme::ops {

Op stop_gradient() {
  Op op("stop_gradient(x)");
  op.doc = "Returns x unchanged; differentiation treats the result as a constant.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_type(Numbers::any);
  op.lower = pointwise([](Builder&, Args x) { return x[0]; });
  op.reference = pointwise_reference([](double x) { return x; });
  op.torch_reference = "x[0].detach()";
  op.samples = elementwise_samples(1);
  // The gradient is zero by definition, although finite differences are not.
  for (Sample& sample : op.samples) sample.check_gradient = false;
  return op;
}

}  // namespace trireme::ops
