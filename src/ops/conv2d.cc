#include "ops/conv.h"
#include "ops/layout.h"

namespace trireme::ops {

Op conv2d() {
  Op op(
      "conv2d(x, weight; stride: ints = [1, 1], padding: ints = [0, 0, 0, 0], "
      "dilation: ints = [1, 1], groups: int = 1, "
      "layout: string = \"nchw\")");
  op.doc =
      "The two-dimensional convolution of images x [N, C, H, W] with weight "
      "[K, C/groups, R, S].\n"
      "As is usual, the window is not flipped.\n"
      "The result is [N, K, P, Q].\n"
      "P = (H + top + bottom - dilation * (R - 1) - 1) / stride + 1, rounded down, and Q "
      "likewise.\n"
      "`padding` is top, bottom, left, right.\n"
      "x, weight and the result are f32 or f64; or x is u8 or i8, weight is i8, and the result is\n"
      "i32, whose sums wrap.\n"
      "H, W and the shape of the weight are numbers; N may be a symbol.";
  op.traits = bits(Trait::library);
  op.flops = convolution_flops;
  op.type = convolution_type(2);
  op.library_kernel = "convolution";
  op.takes_epilogue = true;
  op.reference = convolution_reference(2);
  op.gradient = convolution_gradient(2);
  op.torch_reference =
      "torch.nn.functional.conv2d(torch.nn.functional.pad(x[0], padding[2:] + padding[:2]), "
      "x[1], stride=stride, dilation=dilation, groups=groups)";
  op.samples = convolution_samples(2);
  serve_both_layouts(op, {0}, {0});
  return op;
}

}  // namespace trireme::ops
