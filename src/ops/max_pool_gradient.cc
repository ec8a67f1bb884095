#include "ops/flops.h"
#include "ops/layout.h"
#include "ops/pool.h"

namespace trireme::ops {
namespace {

std::vector<Type> max_pool_gradient_type(const TypeContext& c) {
  const Type& position = c.operands[1];
  require(position.dtype == DType::i32 && position.shape == c.operands[0].shape,
          c.operand_texts[1] + " does not hold the positions for " + c.operand_texts[0],
          "use the second result of max_pool");
  return {unpooled_type(c)};
}

ExprId lower_max_pool_gradient(Lowering& l) {
  Builder& k = l.k();
  ExprId total = kernel_ir::kNoExpr;
  for (const Cover& cover : covers_of(l)) {
    const ExprId dy = l.load(0, cover.index, cover.covers);
    const ExprId position = l.load(1, cover.index, cover.covers);
    // If no window covers the element, dy reads as zero, whatever the position is.
    const ExprId wins = k.eq(position, k.cast(cover.tap, DType::i32));
    const ExprId share = k.select(wins, dy, number(k, dy, 0));
    total = total == kernel_ir::kNoExpr ? share : k.add(total, share);
  }
  return total;
}

void max_pool_gradient_reference(const Reference& r) {
  RefTensor& dx = *r.results[0];
  for_each_tap(window_of(r.op.attributes), dx.shape, r.operands[0]->shape,
               [&](const Index& window, std::int64_t tap, const Index& x) {
                 if (at(*r.operands[1], window) != static_cast<double>(tap)) return;
                 at(dx, x) += at(*r.operands[0], window);
               });
}

}  // namespace

Op max_pool_gradient() {
  Op op(
      "max_pool_gradient(dy, position; kernel: ints, stride: ints, "
      "padding: ints = [0, 0, 0, 0], size: ints, "
      "layout: string = \"nchw\")");
  op.doc =
      "The gradient of max_pool with respect to its images, which have the height and width "
      "`size`.\n"
      "Each element of dy is added at the position in its window that `position` holds.";
  op.flops = flop_per_element_of(0);
  op.no_gradient_reason = "max_pool is differentiated only once";
  op.type = max_pool_gradient_type;
  op.lower = lower_max_pool_gradient;
  op.reference = max_pool_gradient_reference;
  op.torch_reference =
      "torch.zeros(x[0].shape[:2] + (size[0] + padding[0] + padding[1], size[1] + padding[2] + "
      "padding[3]), dtype=x[0].dtype).flatten(2).scatter_add(2, ((torch.arange(x[0].shape[2])"
      "[:, None] * stride[0] + torch.div(x[1].long(), kernel[1], rounding_mode='floor')) * "
      "(size[1] + padding[2] + padding[3]) + torch.arange(x[0].shape[3]) * stride[1] + "
      "x[1].long() % kernel[1]).flatten(2), x[0].flatten(2)).reshape(x[0].shape[:2] + (size[0] "
      "+ padding[0] + padding[1], size[1] + padding[2] + padding[3]))[:, :, padding[0]:"
      "padding[0] + size[0], padding[2]:padding[2] + size[1]]";
  for (const PoolCase& test_case : pool_cases()) {
    Sample s;
    s.operands = {type_of(test_case.y()), type_of(test_case.y(), DType::i32)};
    s.attributes = test_case.gradient_attributes();
    s.ranges = {{-2, 2}, {0, static_cast<double>(test_case.kernel[0] * test_case.kernel[1])}};
    s.check_gradient = false;  // second derivatives of max_pool are zero or undefined
    op.samples.push_back(s);
  }
  serve_both_layouts(op, {0, 1}, {0});
  return op;
}

}  // namespace trireme::ops
