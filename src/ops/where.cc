#include "ops/common.h"

namespace trireme::ops {
namespace {

std::vector<Type> where_type(const TypeContext& context) {
  const Type &condition = context.operands[0], &a = context.operands[1], &b = context.operands[2];
  require(condition.dtype == DType::boolean,
          "the condition must be boolean, but it is " + condition.str(),
          "compare it with a value, or convert it with cast()");
  require(a == b, "the types of a and b differ: " + a.str() + " and " + b.str());
  require(condition.shape == a.shape, "the shapes differ: the condition is " + condition.str() +
                                          ", but a and b are " + a.str());
  return {a};
}

std::vector<Sample> where_samples() {
  std::vector<Sample> samples = elementwise_samples(3);
  for (Sample& sample : samples) {
    sample.operands[0].dtype = DType::boolean;
    sample.ranges = {{0, 2}, {-2, 2}, {-2, 2}};
  }
  return samples;
}

}  // namespace

Op where() {
  Op op("where(condition, a, b)");
  op.old_name = "select";
  op.doc =
      "a if the condition is true, otherwise b, elementwise.\n"
      "The condition is boolean; a and b have one dtype; all three are broadcast to one "
      "shape.";
  op.traits = Trait::elementwise | Trait::cheap;
  op.type = where_type;
  op.lower = pointwise([](Builder& k, Args x) { return k.select(x[0], x[1], x[2]); });
  op.reference = pointwise_reference(
      [](double condition, double a, double b) { return condition != 0 ? a : b; });
  op.gradient = [](GradientContext& c) {
    const Value g = c.gradient(), zero = filled_like(g, 0);
    if (c.needs_gradient(1)) c.accumulate(1, trireme::where(c.operand(0), g, zero));
    if (c.needs_gradient(2)) c.accumulate(2, trireme::where(c.operand(0), zero, g));
  };
  op.torch_reference = "torch.where(x[0], x[1], x[2])";
  op.samples = where_samples();
  return op;
}

}  // namespace trireme::ops
