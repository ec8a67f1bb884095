#include "ops/common.h"
#include "ops/flops.h"

namespace trireme::ops {

Op when_training() {
  Op op("when_training(training, inference)");
  op.doc =
      "`training` if the Program is compiled for training, `inference` if it is compiled for "
      "inference.\n"
      "The choice is made before compilation, and only the chosen operand is computed.\n"
      "The gradient follows the same choice.";
  op.traits = bits(Trait::replaced);
  op.flops = no_flops();
  op.type = same_type(Numbers::any);
  op.reference = pointwise_reference([](double training, double) { return training; });
  op.gradient = [](GradientContext& c) {
    c.accumulate_when(true, 0, c.gradient());
    c.accumulate_when(false, 1, c.gradient());
  };
  op.torch_reference = "x[0]";  // the suite evaluates in training mode
  op.samples = elementwise_samples(2);
  return op;
}

}  // namespace trireme::ops
