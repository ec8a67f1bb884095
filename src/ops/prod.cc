#include "ops/reductions.h"

namespace trireme::ops {
namespace {

// The gradient of each element is the product of the other elements: the product of all, divided by
// the element. An element that is zero or not finite cannot be divided by. If there is one, its
// gradient is the product of the others; if there are several, theirs is the product of all.
void prod_gradient_rule(GradientContext& c) {
  const Value x = c.operand(0), one = filled_like(x, 1);
  const bool keep = get_attribute<bool>(c.op().attributes, "keep");
  const auto& axes = get_attribute<std::vector<std::int64_t>>(c.op().attributes, "axes");
  const Value special = logical_or(equal(x, filled_like(x, 0)), logical_not(is_finite(x)));
  const Value factors = trireme::where(special, one, x);
  const Value product = prod(factors, {.axes = axes, .keep = keep});
  const Value count = sum(cast(special, {.dtype = x.dtype()}), {.axes = axes, .keep = keep});
  const Value alone = logical_and(special, equal(spread(c, count), one));
  c.accumulate(0, trireme::where(alone, spread(c, c.gradient() * product),
                                 spread(c, c.gradient() * c.result()) / factors));
}

}  // namespace

Op prod() {
  Op op("prod(x; axes: ints = [], keep: bool = false)");
  op.doc =
      "The product of the elements along `axes`; 1 if there are no elements.\n"
      "x has a numeric dtype.\n"
      "An empty list means all axes, and negative axes count from the end.\n"
      "With `keep` the axes remain, with size 1.\n"
      "The gradient is correct for elements that are 0, too. If several elements of a product are "
      "0 or "
      "not finite, their gradient is the product of all.";
  op.traits = bits(Trait::reduction);
  op.type = reduced_type(Numbers::numeric);
  op.row_wise = along_other_axes;
  op.reduce = kernel_ir::ReduceOp::prod;
  op.reference = reduction_reference(1, [](double total, double x) { return total * x; });
  op.gradient = prod_gradient_rule;
  op.torch_reference =
      "(lambda a: (lambda kept: x[0].permute(kept + a).reshape([x[0].shape[i] for i in kept] + "
      "[math.prod(x[0].shape[i] for i in a)]).prod(-1).reshape([1 if i in a else n for i, n in "
      "enumerate(x[0].shape)] if keep else [x[0].shape[i] for i in kept]))([i for i in "
      "range(x[0].dim()) if i not in a]))([i % x[0].dim() for i in axes] or "
      "list(range(x[0].dim())))";
  op.samples = reduction_samples(true);
  for (Sample& sample : op.samples) sample.low = 0.5, sample.high = 1.5;
  Sample zeros;  // one factor, which is zero; then several zeros
  zeros.operands = {type_of({7, 1})};
  zeros.attributes = {{"axes", std::vector<std::int64_t>{1}}, {"keep", false}};
  zeros.low = zeros.high = 0;
  op.samples.push_back(zeros);
  zeros.operands = {type_of({5, 3})};
  op.samples.push_back(zeros);
  Sample integers;
  integers.operands = {type_of({9, 4}, DType::i64)};
  integers.attributes = {{"axes", std::vector<std::int64_t>{1}}, {"keep", true}};
  integers.low = -3, integers.high = 4;
  op.samples.push_back(integers);
  return op;
}

}  // namespace trireme::ops
