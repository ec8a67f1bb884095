#include "ops/conv.h"
#include "ops/layout.h"

namespace trireme::ops {

Op conv2d_weight_gradient() {
  Op op(
      "conv2d_weight_gradient(x, dy; kernel: ints, stride: ints = [1, 1], "
      "padding: ints = [0, 0, 0, 0], dilation: ints = [1, 1], groups: int = 1, "
      "layout: string = \"nchw\")");
  op.doc =
      "The gradient of conv2d with respect to its weight, whose window has the height and "
      "width `kernel`.\n"
      "It maps images x [N, C, H, W] and dy [N, K, P, Q] to [K, C/groups, R, S].";
  op.traits = bits(Trait::library);
  op.flops = weight_gradient_flops;
  op.type = weight_gradient_type(2);
  op.library_kernel = "convolution_weight_gradient";
  op.reference = weight_gradient_reference(2);
  op.gradient = weight_gradient_gradient(2);
  op.torch_reference =
      "(lambda z: torch.autograd.grad(torch.nn.functional.conv2d(torch.nn.functional.pad(x[0], "
      "padding[2:] + padding[:2]), z, stride=stride, dilation=dilation, groups=groups), z, "
      "x[1], create_graph=True)[0])(torch.zeros([x[1].shape[1], x[0].shape[1] // groups] + "
      "kernel, dtype=x[0].dtype, requires_grad=True))";
  op.samples = weight_gradient_samples(2);
  serve_both_layouts(op, {0, 1}, {});
  return op;
}

}  // namespace trireme::ops
