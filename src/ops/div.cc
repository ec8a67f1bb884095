#include "ops/common.h"

namespace trireme::ops {
namespace {

void divide(const Reference& r) {
  const bool integer = is_integer(r.op.result()->type.dtype);
  for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
    const double a = r.operands[0]->data[i], b = r.operands[1]->data[i];
    r.results[0]->data[i] = integer ? (b == 0 ? 0 : std::trunc(a / b)) : a / b;
  }
}

}  // namespace

Op div() {
  Op op("div(a, b)");
  op.doc =
      "The elementwise quotient a / b.\n"
      "a and b have one numeric dtype and are broadcast to one shape.\n"
      "Integer quotients are truncated; integer division by zero is 0.";
  op.traits = Trait::elementwise | Trait::cheap;
  op.type = same_type(Numbers::numeric);
  op.lower = pointwise(ExprOp::div);
  op.reference = divide;
  op.gradient = [](GradientContext& c) {
    if (c.needs_gradient(0)) c.accumulate(0, c.gradient() / c.operand(1));
    if (c.needs_gradient(1)) c.accumulate(1, -(c.gradient() * c.result() / c.operand(1)));
  };
  op.torch_reference =
      "torch.div(x[0], x[1], rounding_mode=None if x[0].is_floating_point() else 'trunc')";
  op.samples = joined({elementwise_samples(2, 0.5, 2), elementwise_samples(2, 1, 9, DType::i64)});
  return op;
}

}  // namespace trireme::ops
