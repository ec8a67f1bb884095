#include "ops/layout.h"
#include "ops/pool.h"

namespace trireme::ops {
namespace {

std::vector<Type> max_pool_type(const TypeContext& c) {
  const Type y = pooled_type(c);
  return {y, Type{DType::i32, y.shape}};
}

struct Candidate {
  std::int64_t number;
  ExprId value;  // -inf outside the image
  ExprId inside;
};

std::vector<Candidate> candidates_of(Lowering& l) {
  Builder& k = l.k();
  std::vector<Candidate> candidates;
  for (const Tap& tap : taps_of(l)) {
    ExprId value = l.load(0, tap.index, tap.inside);
    if (tap.inside != kernel_ir::kNoExpr) {
      value = k.select(tap.inside, value, number(k, value, -INFINITY));
    }
    candidates.push_back({tap.number, value, tap.inside});
  }
  return candidates;
}

// Result 0 is the maximum, which is NaN if any candidate is NaN. Result 1 is the first tap that
// equals the maximum or is NaN. The last tap is not compared, because one of the taps must be
// selected.
ExprId lower_max_pool(Lowering& l) {
  Builder& k = l.k();
  const std::vector<Candidate> candidates = candidates_of(l);
  ExprId best = candidates[0].value;
  for (const Candidate& candidate : candidates) best = k.max(best, candidate.value);
  if (l.result() == 0) return best;
  ExprId winner = k.integer(candidates.back().number, DType::i32);
  for (auto tap = candidates.rbegin() + 1; tap != candidates.rend(); ++tap) {
    ExprId wins =
        k.logical_or(k.eq(tap->value, best), k.binary(ExprOp::ne, tap->value, tap->value));
    if (tap->inside != kernel_ir::kNoExpr) wins = k.logical_and(wins, tap->inside);
    winner = k.select(wins, k.integer(tap->number, DType::i32), winner);
  }
  return winner;
}

void max_pool_reference(const Reference& r) {
  RefTensor& y = *r.results[0];
  RefTensor& position = *r.results[1];
  for (double& value : position.data) value = -1;
  for_each_tap(window_of(r.op.attributes), r.operands[0]->shape, y.shape,
               [&](const Index& window, std::int64_t tap, const Index& x) {
                 const double value = at(*r.operands[0], x);
                 double& best = at(y, window);
                 const bool first = at(position, window) < 0;
                 if (!first && (std::isnan(best) || (value <= best && !std::isnan(value)))) return;
                 best = value;
                 at(position, window) = static_cast<double>(tap);
               });
}

void max_pool_gradient_rule(GradientContext& c) {
  using Ints = std::vector<std::int64_t>;
  const Attributes& a = c.op().attributes;
  const Value x = c.operand(0);
  c.accumulate(0, max_pool_gradient(c.gradient(0), c.result(1),
                                    {.kernel = get_attribute<Ints>(a, "kernel"),
                                     .stride = get_attribute<Ints>(a, "stride"),
                                     .padding = get_attribute<Ints>(a, "padding"),
                                     .size = {x.dim(2).constant(), x.dim(3).constant()}}));
}

}  // namespace

Op max_pool() {
  Op op(
      "max_pool(x; kernel: ints, stride: ints, padding: ints = [0, 0, 0, 0], "
      "layout: string = \"nchw\") -> y, position");
  op.doc =
      "The largest element of each window that slides over the last two axes of x "
      "[N, C, H, W].\n"
      "x is f32 or f64, with constant H and W.\n"
      "`padding` is top, bottom, left, right, and counts as -inf.\n"
      "`position`, used by the gradient, is the i32 position of the largest element in its "
      "window.\n"
      "In a window of height R and width S the position is r * S + s.\n"
      "Of equal elements the first one is selected; NaN counts as larger than every number.";
  op.flops = pooling_flops;
  op.type = max_pool_type;
  op.lower = lower_max_pool;
  op.reference = max_pool_reference;
  op.gradient = max_pool_gradient_rule;
  op.torch_reference =
      "torch.nn.functional.max_pool2d(torch.nn.functional.pad(x[0], padding[2:] + padding[:2], "
      "value=-math.inf), tuple(kernel), tuple(stride))";
  for (const PoolCase& test_case : pool_cases()) {
    Sample s;
    s.operands = {type_of(test_case.x)};
    s.attributes = test_case.attributes();
    op.samples.push_back(s);
  }
  serve_both_layouts(op, {0}, {0, 1});
  return op;
}

}  // namespace trireme::ops
