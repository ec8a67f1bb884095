#include "ops/common.h"

namespace trireme::ops {

Op bitwise_not() {
  Op op("bitwise_not(x)");
  op.doc =
      "The integers with every bit inverted, elementwise: -x - 1 with a sign, the largest integer\n"
      "minus x without. x has an integer dtype.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = same_type(Numbers::integers);
  op.lower = pointwise([](Builder& k, Args x) {
    return k.binary(ExprOp::bit_xor, x[0], k.integer(-1, k.type(x[0])));
  });
  op.reference = [](const Reference& r) {
    const DTypeInfo& info = info_of(r.op.result()->type.dtype);
    for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
      const double x = r.operands[0]->data[i];
      r.results[0]->data[i] = info.lowest_integer < 0 ? -x - 1 : info.highest_integer - x;
    }
  };
  op.torch_reference = "torch.bitwise_not(x[0])";
  op.samples = joined(
      {elementwise_samples(1, -99, 99, DType::i32), elementwise_samples(1, 0, 255, DType::u8)});
  return op;
}

}  // namespace trireme::ops
