#include "ops/conv.h"
#include "ops/layout.h"

namespace trireme::ops {
namespace {

// Linear in x and in dy: the adjoints are the other gradient and the convolution.
void gradient(GradientContext& c) {
  using Ints = std::vector<std::int64_t>;
  const Attributes& a = c.op().attributes;
  const auto stride = ir::get<Ints>(a, "stride"), padding = ir::get<Ints>(a, "padding"),
             dilation = ir::get<Ints>(a, "dilation");
  const auto groups = ir::get<std::int64_t>(a, "groups");
  const Value x = c.operand(0), dy = c.operand(1), g = c.gradient();
  if (c.wants(0)) {
    c.give(0, conv3d_input_gradient(dy, g,
                                    {.size = window_sizes(x),
                                     .stride = stride,
                                     .padding = padding,
                                     .dilation = dilation,
                                     .groups = groups}));
  }
  if (c.wants(1)) {
    c.give(1,
           conv3d(x, g,
                  {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups}));
  }
}

}  // namespace

Op conv3d_weight_gradient() {
  Op op(
      "conv3d_weight_gradient(x, dy; kernel: ints, stride: ints = [1, 1, 1], "
      "padding: ints = [0, 0, 0, 0, 0, 0], dilation: ints = [1, 1, 1], groups: int = 1, "
      "layout: string = \"nchw\")");
  op.doc =
      "The gradient of conv3d by its weight, whose window has the depth, height and width "
      "`kernel`: "
      "from the volumes x [N, C, D, H, W] and dy [N, K, ...] to [K, C/groups, Q, R, S].";
  op.traits = bits(Trait::library);
  op.type = weight_gradient_type(3);
  op.library_kernel = "convolution_weight_gradient";
  op.reference = weight_gradient_reference(3);
  op.gradient = gradient;
  op.twin =
      "(lambda z: torch.autograd.grad(torch.nn.functional.conv3d(torch.nn.functional.pad(x[0], "
      "padding[4:] + padding[2:4] + padding[:2]), z, stride=stride, dilation=dilation, "
      "groups=groups), z, "
      "x[1], create_graph=True)[0])(torch.zeros([x[1].shape[1], x[0].shape[1] // groups] + "
      "kernel, dtype=x[0].dtype, requires_grad=True))";
  op.samples = weight_gradient_samples(3);
  serve_both_layouts(op, {0, 1}, {});
  return op;
}

}  // namespace trireme::ops
