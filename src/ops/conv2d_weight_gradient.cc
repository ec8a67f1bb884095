#include "ops/conv.h"
#include "ops/layout.h"

namespace trireme::ops {
namespace {

using Ints = std::vector<std::int64_t>;

std::vector<Type> type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const Type& dy = c.operands[1];
  const Convolution convolution = convolution_of(c.attributes, {});
  require_image(x, c.operand_texts[0]);
  require_image(dy, c.operand_texts[1]);
  require(x.shape[1].is_constant() && dy.shape[1].is_constant() &&
              x.shape[1].constant() % convolution.groups == 0,
          "the channels of " + c.operand_texts[0] + " cannot be divided into " +
              std::to_string(convolution.groups) + " groups");
  const auto& kernel = convolution.window.kernel;
  const Type dw{
      x.dtype, {dy.shape[1], x.shape[1].constant() / convolution.groups, kernel[0], kernel[1]}, ""};
  require_convolution(convolution, x, dw, c.operand_texts[0], dw.str());
  require_result(convolution, x, dw, dy, c.operand_texts[1]);
  return {dw};
}

void reference(const Reference& r) {
  const Convolution convolution = convolution_of(r.op.attributes, {});
  RefTensor& dw = *r.results[0];
  for_each_product(convolution, r.operands[0]->shape, dw.shape, r.operands[1]->shape,
                   [&](const Index& x, const Index& weight, const Index& y) {
                     at(dw, weight) += at(*r.operands[0], x) * at(*r.operands[1], y);
                   });
}

// Linear in x and in dy: the adjoints are the other gradient and the convolution.
void gradient(GradientContext& c) {
  const Attributes& a = c.op().attributes;
  const auto stride = ir::get<Ints>(a, "stride"), padding = ir::get<Ints>(a, "padding"),
             dilation = ir::get<Ints>(a, "dilation");
  const auto groups = ir::get<std::int64_t>(a, "groups");
  const Value x = c.operand(0), dy = c.operand(1), g = c.gradient();
  if (c.wants(0)) {
    c.give(0, conv2d_input_gradient(dy, g,
                                    {.size = {x.dim(2).constant(), x.dim(3).constant()},
                                     .stride = stride,
                                     .padding = padding,
                                     .dilation = dilation,
                                     .groups = groups}));
  }
  if (c.wants(1)) {
    c.give(1,
           conv2d(x, g,
                  {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups}));
  }
}

}  // namespace

Op conv2d_weight_gradient() {
  Op op(
      "conv2d_weight_gradient(x, dy; kernel: ints, stride: ints = [1, 1], "
      "padding: ints = [0, 0, 0, 0], dilation: ints = [1, 1], groups: int = 1, "
      "layout: string = \"nchw\")");
  op.doc =
      "The gradient of conv2d by its weight, whose window has the height and width `kernel`: from "
      "the images x [N, C, H, W] and dy [N, K, P, Q] to [K, C/groups, R, S].";
  op.traits = bits(Trait::library);
  op.type = type;
  op.library_kernel = "conv2d_weight_gradient";
  op.reference = reference;
  op.gradient = gradient;
  op.twin =
      "(lambda z: torch.autograd.grad(torch.nn.functional.conv2d(torch.nn.functional.pad(x[0], "
      "padding[2:] + padding[:2]), z, stride=stride, dilation=dilation, groups=groups), z, "
      "x[1], create_graph=True)[0])(torch.zeros([x[1].shape[1], x[0].shape[1] // groups] + "
      "kernel, dtype=x[0].dtype, requires_grad=True))";
  for (const ConvolutionCase& one : convolution_cases()) {
    Sample s;
    s.operands = {type_of(one.x), type_of(one.y())};
    s.attributes = one.attributes();
    s.attributes.push_back({"kernel", Ints{one.weight[2], one.weight[3]}});
    op.samples.push_back(s);
  }
  serve_both_layouts(op, {0, 1}, {});
  return op;
}

}  // namespace trireme::ops
