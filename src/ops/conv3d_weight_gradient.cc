#include "ops/conv.h"
#include "ops/layout.h"

namespace trireme::ops {

Op conv3d_weight_gradient() {
  Op op(
      "conv3d_weight_gradient(x, dy; kernel: ints, stride: ints = [1, 1, 1], "
      "padding: ints = [0, 0, 0, 0, 0, 0], dilation: ints = [1, 1, 1], groups: int = 1, "
      "layout: string = \"nchw\")");
  op.doc =
      "The gradient of conv3d with respect to its weight, whose window has the size `kernel`.\n"
      "`kernel` is depth, height and width.\n"
      "It maps volumes x [N, C, D, H, W] and dy [N, K, ...] to [K, C/groups, Q, R, S].";
  op.traits = bits(Trait::library);
  op.flops = weight_gradient_flops;
  op.type = weight_gradient_type(3);
  op.library_kernel = "convolution_weight_gradient";
  op.reference = weight_gradient_reference(3);
  op.gradient = weight_gradient_gradient(3);
  op.torch_reference =
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
