#include "ops/common.h"

namespace trireme::ops {

Op sign() {
  Op op("sign(x)");
  op.doc =
      "1 for positive elements and -1 for negative ones; 0 and NaN stay unchanged.\n"
      "x has a numeric dtype; the gradient is zero.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_type(Numbers::numeric);
  op.lower = pointwise([](Builder& k, Args x) {
    const ExprId zero = number(k, x[0], 0);
    const ExprId rest = k.select(k.lt(x[0], zero), number(k, x[0], -1), x[0]);
    return k.select(k.lt(zero, x[0]), number(k, x[0], 1), rest);
  });
  op.reference = pointwise_reference([](double x) { return x > 0 ? 1 : x < 0 ? -1 : x; });
  op.torch_reference = "torch.sign(x[0])";
  op.samples = joined({elementwise_samples(1), elementwise_samples(1, -2, 3, DType::i64),
                       elementwise_samples(1, 0, 3, DType::u8)});
  return op;
}

}  // namespace trireme::ops
