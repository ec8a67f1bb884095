#include "ops/common.h"

namespace trireme::ops {
namespace {

// Ties test the rounding: 0.5 in all elements, then 1.5 and -2.5.
std::vector<Sample> ties() {
  std::vector<Sample> samples;
  for (const double value : {0.5, 1.5, -2.5}) {
    Sample sample;
    sample.operands = {type_of({9})};
    sample.low = sample.high = value;
    samples.push_back(sample);
  }
  return samples;
}

double round_half_to_even(double x) {
  const double below = std::floor(x);
  if (x - below != 0.5) return std::floor(x + 0.5);
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

}  // namespace

Op round() {
  Op op("round(x)");
  op.doc =
      "The whole number nearest to the element; ties go to the even number.\n"
      "x is f32 or f64; the gradient is zero.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(ExprOp::round_even);
  op.reference = pointwise_reference(round_half_to_even);
  op.torch_reference = "torch.round(x[0])";
  op.samples = joined({elementwise_samples(1, -5, 5), ties()});
  return op;
}

}  // namespace trireme::ops
