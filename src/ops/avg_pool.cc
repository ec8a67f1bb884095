#include "ops/layout.h"
#include "ops/pool.h"

namespace trireme::ops {
namespace {

using Ints = std::vector<std::int64_t>;

ExprId lower_avg_pool(Lowering& l) {
  Builder& k = l.k();
  const bool counts_padding = get_attribute<bool>(l.op().attributes, "count_include_pad");
  const std::vector<Tap> taps = taps_of(l);
  ExprId total = kernel_ir::kNoExpr;
  ExprId count = kernel_ir::kNoExpr;
  for (const Tap& tap : taps) {
    const ExprId value = l.load(0, tap.index, tap.inside);
    const ExprId unit = number(k, value, 1);
    const ExprId counted = counts_padding || tap.inside == kernel_ir::kNoExpr
                               ? unit
                               : k.select(tap.inside, unit, number(k, value, 0));
    total = total == kernel_ir::kNoExpr ? value : k.add(total, value);
    count = count == kernel_ir::kNoExpr ? counted : k.add(count, counted);
  }
  return k.div(total, count);
}

void avg_pool_reference(const Reference& r) {
  const Window window = window_of(r.op.attributes);
  const bool counts_padding = get_attribute<bool>(r.op.attributes, "count_include_pad");
  RefTensor& y = *r.results[0];
  RefTensor count(y.shape);
  for_each_tap(window, r.operands[0]->shape, y.shape,
               [&](const Index& out, std::int64_t, const Index& x) {
                 at(y, out) += at(*r.operands[0], x);
                 at(count, out) += 1;
               });
  const auto window_size = static_cast<double>(window.kernel[0] * window.kernel[1]);
  for (std::size_t i = 0; i < y.data.size(); ++i)
    y.data[i] /= counts_padding ? window_size : count.data[i];
}

void avg_pool_gradient_rule(GradientContext& c) {
  const Attributes& a = c.op().attributes;
  const Value x = c.operand(0);
  c.accumulate(0,
               avg_pool_gradient(c.gradient(),
                                 {.kernel = get_attribute<Ints>(a, "kernel"),
                                  .stride = get_attribute<Ints>(a, "stride"),
                                  .padding = get_attribute<Ints>(a, "padding"),
                                  .count_include_pad = get_attribute<bool>(a, "count_include_pad"),
                                  .size = {x.dim(2).constant(), x.dim(3).constant()}}));
}

}  // namespace

Op avg_pool() {
  Op op(
      "avg_pool(x; kernel: ints, stride: ints, padding: ints = [0, 0, 0, 0], "
      "count_include_pad: bool = true, "
      "layout: string = \"nchw\")");
  op.old_attributes = {{"count_padding", "count_include_pad"}};
  op.doc =
      "The mean of each window that slides over the last two axes of x [N, C, H, W].\n"
      "x is f32 or f64, with constant H and W.\n"
      "`padding` is top, bottom, left, right, and adds zeros.\n"
      "With `count_include_pad` these zeros count as elements.\n"
      "Without it, the sum is divided by the number of elements inside the image.\n"
      "With layout \"nhwc\", x and the result have the channels last.";
  op.flops = pooling_flops;
  op.type = [](const TypeContext& c) { return std::vector<Type>{pooled_type(c)}; };
  op.lower = lower_avg_pool;
  op.reference = avg_pool_reference;
  op.gradient = avg_pool_gradient_rule;
  op.torch_reference =
      "(lambda f: f(x[0]) / (1 if count_include_pad else f(torch.ones_like(x[0]))))(lambda z: "
      "torch.nn.functional.avg_pool2d(torch.nn.functional.pad(z, padding[2:] + padding[:2]), "
      "tuple(kernel), tuple(stride)))";
  for (const bool count_include_pad : {true, false}) {
    for (const PoolCase& test_case : pool_cases()) {
      Sample s;
      s.operands = {type_of(test_case.x)};
      s.attributes = test_case.attributes();
      set_attribute(s.attributes, "count_include_pad", count_include_pad);
      op.samples.push_back(s);
    }
  }
  serve_both_layouts(op, {0}, {0});
  return op;
}

}  // namespace trireme::ops
