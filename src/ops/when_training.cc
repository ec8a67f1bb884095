#include "ops/common.h"

namespace trireme::ops {

Op when_training() {
  Op op("when_training(training, inference)");
  op.doc =
      "The first operand where the Program is compiled for training, the second where for "
      "inference. The choice is made before anything is compiled, and only the chosen operand is "
      "computed. The gradient follows the same choice.";
  // No lowering: transforms/specialise.h replaces it.
  op.type = same_type(Numbers::any);
  op.reference = pointwise_reference([](double training, double) { return training; });
  op.gradient = [](GradientContext& c) {
    const Value g = c.gradient(), zero = filled_like(g, 0);
    if (c.wants(0)) c.give(0, when_training(g, zero));
    if (c.wants(1)) c.give(1, when_training(zero, g));
  };
  op.twin = "x[0]";  // the suite evaluates in training mode
  op.samples = elementwise_samples(2);
  return op;
}

}  // namespace trireme::ops
