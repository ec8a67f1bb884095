#include "ops/common.h"

namespace trireme::ops {

Op bitwise_or() {
  Op op("bitwise_or(a, b)");
  op.doc =
      "Of two integers, the bits that either has, elementwise.\n"
      "a and b have one integer dtype and are broadcast to one shape.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable | Trait::commutative;
  op.type = same_type(Numbers::integers);
  op.lower = pointwise(ExprOp::bit_or);
  op.reference = pointwise_reference([](double a, double b) {
    return static_cast<double>(static_cast<std::int64_t>(a) | static_cast<std::int64_t>(b));
  });
  op.torch_reference = "torch.bitwise_or(x[0], x[1])";
  op.samples = joined({elementwise_samples(2, -99, 99, DType::i64),
                       elementwise_samples(2, 0, 255, DType::u8),
                       elementwise_samples(2, -128, 127, DType::i8)});
  return op;
}

}  // namespace trireme::ops
