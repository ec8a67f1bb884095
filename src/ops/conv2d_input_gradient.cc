#include "ops/conv.h"
#include "ops/layout.h"

namespace trireme::ops {

Op conv2d_input_gradient() {
  Op op(
      "conv2d_input_gradient(dy, weight; size: ints, stride: ints = [1, 1], "
      "padding: ints = [0, 0, 0, 0], dilation: ints = [1, 1], groups: int = 1, "
      "layout: string = \"nchw\")");
  op.doc =
      "The gradient of conv2d with respect to its images, which have the height and width "
      "`size`.\n"
      "It is a transposed convolution of dy [N, K, P, Q] with weight [K, C/groups, R, S].\n"
      "The result is [N, C, H, W].";
  op.traits = bits(Trait::library);
  op.flops = input_gradient_flops;
  op.type = input_gradient_type(2);
  op.library_kernel = "convolution_input_gradient";
  op.reference = input_gradient_reference(2);
  op.gradient = input_gradient_gradient(2);
  op.torch_reference =
      "(lambda z: torch.autograd.grad(torch.nn.functional.conv2d(torch.nn.functional.pad(z, "
      "padding[2:] + padding[:2]), x[1], stride=stride, dilation=dilation, groups=groups), z, "
      "x[0], create_graph=True)[0])(torch.zeros([x[0].shape[0], x[1].shape[1] * groups] + size, "
      "dtype=x[0].dtype, requires_grad=True))";
  op.samples = input_gradient_samples(2);
  serve_both_layouts(op, {0}, {0});
  return op;
}

}  // namespace trireme::ops
