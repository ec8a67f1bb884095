#include "ops/conv.h"
#include "ops/layout.h"

namespace trireme::ops {

Op conv3d() {
  Op op(
      "conv3d(x, weight; stride: ints = [1, 1, 1], padding: ints = [0, 0, 0, 0, 0, 0], "
      "dilation: ints = [1, 1, 1], groups: int = 1, "
      "layout: string = \"nchw\")");
  op.doc =
      "The three-dimensional convolution of volumes x [N, C, D, H, W] with weight "
      "[K, C/groups, Q, R, S].\n"
      "The window is not flipped.\n"
      "The result is [N, K, ...], with sizes as for conv2d.\n"
      "`padding` is front, back, top, bottom, left, right.\n"
      "x and weight are f32 or f64.\n"
      "D, H, W and the shape of the weight are numbers; N may be a symbol.\n"
      "With layout \"nhwc\" volumes are [N, D, H, W, C].";
  op.traits = bits(Trait::library);
  op.flops = convolution_flops;
  op.type = convolution_type(3);
  op.library_kernel = "convolution";
  op.takes_epilogue = true;
  op.reference = convolution_reference(3);
  op.gradient = convolution_gradient(3);
  op.torch_reference =
      "torch.nn.functional.conv3d(torch.nn.functional.pad(x[0], padding[4:] + padding[2:4] + "
      "padding[:2]), "
      "x[1], stride=stride, dilation=dilation, groups=groups)";
  op.samples = convolution_samples(3);
  serve_both_layouts(op, {0}, {0});
  return op;
}

}  // namespace trireme::ops
