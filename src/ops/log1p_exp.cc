#include "ops/common.h"

namespace trireme::ops {
namespace {

// Does not overflow, and is accurate where the result is tiny.
ExprId value(Builder& k, Args args) {
  const ExprId x = args[0];
  const ExprId small = k.unary(ExprOp::exp, k.unary(ExprOp::neg, k.unary(ExprOp::abs, x)));
  return k.add(k.binary(ExprOp::max, x, number(k, x, 0)), k.unary(ExprOp::log1p, small));
}

}  // namespace

// An op of its own, because the pieces of this formula have kinks at 0 and their gradients do not
// add up there.
Op log1p_exp() {
  Op op("log1p_exp(x)");
  op.doc =
      "log(1 + exp(x)) of each element, computed as max(x, 0) + log(1 + exp(-|x|)): softplus.\n"
      "Its gradient is sigmoid(x). NaN stays NaN.\n"
      "x is f32 or f64.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(value);
  op.reference = pointwise_reference(
      [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::abs(x))); });
  op.gradient = [](GradientContext& c) { c.accumulate(0, c.gradient() * sigmoid(c.operand(0))); };
  op.torch_reference = "torch.nn.functional.softplus(x[0], threshold=40)";
  op.samples = joined({elementwise_samples(1, -6, 6), elementwise_samples(1, -80, 80),
                       elementwise_samples(1, -1e-6, 1e-6)});
  return op;
}

}  // namespace trireme::ops
