#include "ops/conv.h"
#include "ops/layout.h"

namespace trireme::ops {
namespace {

// Linear in dy and in the weight: the adjoints are the convolution and its other gradient.
void gradient(GradientContext& c) {
  using Ints = std::vector<std::int64_t>;
  const Attributes& a = c.op().attributes;
  const auto stride = ir::get<Ints>(a, "stride"), padding = ir::get<Ints>(a, "padding"),
             dilation = ir::get<Ints>(a, "dilation");
  const auto groups = ir::get<std::int64_t>(a, "groups");
  const Value dy = c.operand(0), weight = c.operand(1), g = c.gradient();
  if (c.wants(0)) {
    c.give(0,
           conv3d(g, weight,
                  {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups}));
  }
  if (c.wants(1)) {
    c.give(1, conv3d_weight_gradient(g, dy,
                                     {.kernel = window_sizes(weight),
                                      .stride = stride,
                                      .padding = padding,
                                      .dilation = dilation,
                                      .groups = groups}));
  }
}

}  // namespace

Op conv3d_input_gradient() {
  Op op(
      "conv3d_input_gradient(dy, weight; size: ints, stride: ints = [1, 1, 1], "
      "padding: ints = [0, 0, 0, 0, 0, 0], dilation: ints = [1, 1, 1], groups: int = 1, "
      "layout: string = \"nchw\")");
  op.doc =
      "The gradient of conv3d by its volumes, which have the depth, height and width `size`: a "
      "transposed convolution of dy [N, K, ...] with weight [K, C/groups, Q, R, S], giving "
      "[N, C, D, H, W].";
  op.traits = bits(Trait::library);
  op.type = input_gradient_type(3);
  op.library_kernel = "convolution_input_gradient";
  op.reference = input_gradient_reference(3);
  op.gradient = gradient;
  op.twin =
      "(lambda z: torch.autograd.grad(torch.nn.functional.conv3d(torch.nn.functional.pad(z, "
      "padding[4:] + padding[2:4] + padding[:2]), x[1], stride=stride, dilation=dilation, "
      "groups=groups), z, "
      "x[0], create_graph=True)[0])(torch.zeros([x[0].shape[0], x[1].shape[1] * groups] + size, "
      "dtype=x[0].dtype, requires_grad=True))";
  op.samples = input_gradient_samples(3);
  serve_both_layouts(op, {0}, {0});
  return op;
}

}  // namespace trireme::ops
