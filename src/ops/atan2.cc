#include "ops/common.h"

namespace trireme::ops {
namespace {

// Whether v has the sign bit: v < 0 or v is -0.
ExprId is_negative(Builder& k, ExprId v) {
  const ExprId zero = number(k, v, 0);
  const ExprId inverse = k.div(number(k, v, 1), v);
  const ExprId negative_zero = k.logical_and(k.binary(ExprOp::eq, v, zero), k.lt(inverse, zero));
  return k.logical_or(k.lt(v, zero), negative_zero);
}

// The arctangent of the smaller over the larger magnitude, which is in [0, 1] and never overflows,
// moved to the octant of (x, y).
ExprId angle(Builder& k, Args args) {
  const ExprId y = args[0], x = args[1];
  const ExprId zero = number(k, x, 0), one = number(k, x, 1);
  const ExprId height = k.unary(ExprOp::abs, y), width = k.unary(ExprOp::abs, x);
  const ExprId steep = k.lt(width, height);
  const ExprId larger = k.select(steep, height, width);
  const ExprId smaller = k.select(steep, width, height);
  const ExprId equal = k.binary(ExprOp::eq, smaller, larger);  // both may be 0 or infinite
  const ExprId ratio = k.select(equal, k.select(k.binary(ExprOp::eq, larger, zero), zero, one),
                                k.div(smaller, larger));
  const ExprId octant = k.unary(ExprOp::atan, ratio);
  const ExprId quadrant = k.select(steep, k.sub(number(k, x, M_PI_2), octant), octant);
  const ExprId half = k.select(is_negative(k, x), k.sub(number(k, x, M_PI), quadrant), quadrant);
  return k.select(is_negative(k, y), k.unary(ExprOp::neg, half), half);
}

}  // namespace

Op atan2() {
  Op op("atan2(y, x)");
  op.doc =
      "The angle of the point (x, y) in radians, between -pi and pi, elementwise.\n"
      "Zeros and infinities are as in C: the sign of a zero selects the side. NaN if either is "
      "NaN.\n"
      "The gradient is NaN where both are 0.\n"
      "y and x have one dtype, f32 or f64, and are broadcast to one shape.";
  op.traits = bits(Trait::elementwise);
  op.type = same_type(Numbers::floats);
  op.lower = pointwise(angle);
  op.reference = pointwise_reference([](double y, double x) { return std::atan2(y, x); });
  // Divides by the larger magnitude first, so that squares do not overflow. The gradient is 0 where
  // that is infinite.
  op.gradient = [](GradientContext& c) {
    const Value y = c.operand(0), x = c.operand(1);
    const Value scale = maximum(abs(y), abs(x));
    const Value finite = is_finite(scale);
    const Value height = trireme::where(finite, y / scale, filled_like(y, 0));
    const Value width = trireme::where(finite, x / scale, filled_like(x, 1));
    const Value g = c.gradient() / (scale * (height * height + width * width));
    if (c.needs_gradient(0)) c.accumulate(0, g * width);
    if (c.needs_gradient(1)) c.accumulate(1, -(g * height));
  };
  op.torch_reference = "torch.atan2(x[0], x[1])";
  for (const auto& [low, high] : {std::pair{0.25, 2.0}, std::pair{-2.0, -0.25}}) {
    for (Sample sample : elementwise_samples(2)) {
      sample.ranges = {{-2, 2}, {low, high}};
      op.samples.push_back(sample);
      sample.ranges = {{low, high}, {-30, 30}};
      op.samples.push_back(sample);
    }
  }
  return op;
}

}  // namespace trireme::ops
