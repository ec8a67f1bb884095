#include "ops/conv.h"
#include "ops/layout.h"

namespace trireme::ops {
namespace {

void gradient(GradientContext& c) {
  using Ints = std::vector<std::int64_t>;
  const Attributes& a = c.op().attributes;
  const auto stride = ir::get<Ints>(a, "stride"), padding = ir::get<Ints>(a, "padding"),
             dilation = ir::get<Ints>(a, "dilation");
  const auto groups = ir::get<std::int64_t>(a, "groups");
  const Value x = c.operand(0), weight = c.operand(1), dy = c.gradient();
  if (c.wants(0)) {
    c.give(0, conv3d_input_gradient(dy, weight,
                                    {.size = window_sizes(x),
                                     .stride = stride,
                                     .padding = padding,
                                     .dilation = dilation,
                                     .groups = groups}));
  }
  if (c.wants(1)) {
    c.give(1, conv3d_weight_gradient(x, dy,
                                     {.kernel = window_sizes(weight),
                                      .stride = stride,
                                      .padding = padding,
                                      .dilation = dilation,
                                      .groups = groups}));
  }
}

}  // namespace

Op conv3d() {
  Op op(
      "conv3d(x, weight; stride: ints = [1, 1, 1], padding: ints = [0, 0, 0, 0, 0, 0], "
      "dilation: ints = [1, 1, 1], groups: int = 1, "
      "layout: string = \"nchw\")");
  op.doc =
      "The three-dimensional convolution (without flipping the window) of volumes x [N, C, D, H, "
      "W] "
      "with weight [K, C/groups, Q, R, S], giving [N, K, ...] with sizes as of conv2d. `padding` "
      "is "
      "front, back, top, bottom, left, right. D, H, W and the weight's shape are numbers; N may be "
      "a symbol. With layout \"nhwc\" volumes are [N, D, H, W, C].";
  op.traits = bits(Trait::library);
  op.type = convolution_type(3);
  op.library_kernel = "convolution";
  op.takes_epilogue = true;
  op.reference = convolution_reference(3);
  op.gradient = gradient;
  op.twin =
      "torch.nn.functional.conv3d(torch.nn.functional.pad(x[0], padding[4:] + padding[2:4] + "
      "padding[:2]), "
      "x[1], stride=stride, dilation=dilation, groups=groups)";
  op.samples = convolution_samples(3);
  serve_both_layouts(op, {0}, {0});
  return op;
}

}  // namespace trireme::ops
