#include "ops/flops.h"
#include "ops/layout.h"
#include "ops/pool.h"

namespace trireme::ops {
namespace {

using Ints = std::vector<std::int64_t>;

// Returns how many taps of window number `place` along the axis are in [0, size), as i64.
ExprId taps_inside(Builder& k, const Window& window, std::size_t axis, std::int64_t size,
                   ExprId place) {
  const ExprId start =
      k.sub(k.mul(place, k.integer(window.stride[axis])), k.integer(window.before(axis)));
  const ExprId end = k.min(k.add(start, k.integer(window.kernel[axis])), k.integer(size));
  return k.sub(end, k.max(start, k.integer(0)));
}

ExprId lower_avg_pool_gradient(Lowering& l) {
  Builder& k = l.k();
  const Window window = window_of(l.op().attributes);
  const bool counts_padding = get_attribute<bool>(l.op().attributes, "count_include_pad");
  const auto size = image_size(channels_first(l.op(), l.op().result()->type));
  const auto window_size = static_cast<double>(window.kernel[0] * window.kernel[1]);
  ExprId total = kernel_ir::kNoExpr;
  for (const Cover& cover : covers_of(l)) {
    ExprId share = l.load(0, cover.index, cover.covers);
    if (!counts_padding) {
      const ExprId count = k.mul(taps_inside(k, window, 0, size[0], cover.index[2]),
                                 taps_inside(k, window, 1, size[1], cover.index[3]));
      // The count of a missing window may be 0: divide by at least 1, so that its share is 0.
      share = k.div(share, k.cast(k.max(count, k.integer(1)), k.type(share)));
    }
    total = total == kernel_ir::kNoExpr ? share : k.add(total, share);
  }
  return counts_padding ? k.div(total, number(k, total, window_size)) : total;
}

void avg_pool_gradient_reference(const Reference& r) {
  const Window window = window_of(r.op.attributes);
  const bool counts_padding = get_attribute<bool>(r.op.attributes, "count_include_pad");
  const RefTensor& dy = *r.operands[0];
  RefTensor& dx = *r.results[0];
  RefTensor count(dy.shape);
  for_each_tap(window, dx.shape, dy.shape,
               [&](const Index& y, std::int64_t, const Index&) { at(count, y) += 1; });
  const auto window_size = static_cast<double>(window.kernel[0] * window.kernel[1]);
  for_each_tap(window, dx.shape, dy.shape, [&](const Index& y, std::int64_t, const Index& x) {
    at(dx, x) += at(dy, y) / (counts_padding ? window_size : at(count, y));
  });
}

// The op is linear: its adjoint is the pooling itself.
void avg_pool_gradient_gradient_rule(GradientContext& c) {
  const Attributes& a = c.op().attributes;
  c.accumulate(0, avg_pool(c.gradient(),
                           {.kernel = get_attribute<Ints>(a, "kernel"),
                            .stride = get_attribute<Ints>(a, "stride"),
                            .padding = get_attribute<Ints>(a, "padding"),
                            .count_include_pad = get_attribute<bool>(a, "count_include_pad")}));
}

}  // namespace

Op avg_pool_gradient() {
  Op op(
      "avg_pool_gradient(dy; kernel: ints, stride: ints, padding: ints = [0, 0, 0, 0], "
      "count_include_pad: bool = true, size: ints, "
      "layout: string = \"nchw\")");
  op.old_attributes = {{"count_padding", "count_include_pad"}};
  op.doc =
      "The gradient of avg_pool with respect to its images, which have the height and width "
      "`size`.\n"
      "Each element of dy is shared equally among the elements of its window.";
  op.flops = flop_per_element_of(0);
  op.type = [](const TypeContext& c) { return std::vector<Type>{unpooled_type(c)}; };
  op.lower = lower_avg_pool_gradient;
  op.reference = avg_pool_gradient_reference;
  op.gradient = avg_pool_gradient_gradient_rule;
  op.torch_reference =
      "(lambda z, f: torch.autograd.grad(f(z) / (1 if count_include_pad else "
      "f(torch.ones_like(z)).detach()), z, x[0], create_graph=True)[0])(torch.zeros("
      "list(x[0].shape[:2]) + size, dtype=x[0].dtype, requires_grad=True), lambda z: "
      "torch.nn.functional.avg_pool2d(torch.nn.functional.pad(z, padding[2:] + padding[:2]), "
      "tuple(kernel), tuple(stride))) if x[0].shape[0] else "
      "torch.zeros(list(x[0].shape[:2]) + size, dtype=x[0].dtype)";
  for (const bool count_include_pad : {true, false}) {
    for (const PoolCase& test_case : pool_cases()) {
      Sample s;
      s.operands = {type_of(test_case.y())};
      s.attributes = test_case.gradient_attributes();
      set_attribute(s.attributes, "count_include_pad", count_include_pad);
      op.samples.push_back(s);
    }
  }
  serve_both_layouts(op, {0}, {0});
  return op;
}

}  // namespace trireme::ops
