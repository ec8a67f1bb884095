#include "ops/conv.h"
#include "ops/layout.h"

namespace trireme::ops {
namespace {

using Ints = std::vector<std::int64_t>;

std::vector<Type> type(const TypeContext& c) {
  const Type& dy = c.operands[0];
  const Type& weight = c.operands[1];
  const Ints& size = ir::get<Ints>(c.attributes, "size");
  const Convolution convolution = convolution_of(c.attributes, weight.shape);
  require_image(dy, c.operand_texts[0]);
  require(size.size() == 2, "size is the height and the width of the image");
  require(weight.rank() == 4 && is_constant(weight.shape),
          c.operand_texts[1] + " is not a weight [K, C/groups, R, S]");
  const Type dx{dy.dtype,
                {dy.shape[0], weight.shape[1] * Dim(convolution.groups), size[0], size[1]},
                dy.ragged};
  require_convolution(convolution, dx, weight, dx.str(), c.operand_texts[1]);
  require_result(convolution, dx, weight, dy, c.operand_texts[0]);
  return {dx};
}

void reference(const Reference& r) {
  const Convolution convolution = convolution_of(r.op.attributes, r.op.operands[1]->type.shape);
  RefTensor& dx = *r.results[0];
  for_each_product(convolution, dx.shape, r.operands[1]->shape, r.operands[0]->shape,
                   [&](const Index& x, const Index& weight, const Index& y) {
                     at(dx, x) += at(*r.operands[0], y) * at(*r.operands[1], weight);
                   });
}

// Linear in dy and in the weight: the adjoints are the convolution and its other gradient.
void gradient(GradientContext& c) {
  const Attributes& a = c.op().attributes;
  const auto stride = ir::get<Ints>(a, "stride"), padding = ir::get<Ints>(a, "padding"),
             dilation = ir::get<Ints>(a, "dilation");
  const auto groups = ir::get<std::int64_t>(a, "groups");
  const Value dy = c.operand(0), weight = c.operand(1), g = c.gradient();
  if (c.wants(0)) {
    c.give(0,
           conv2d(g, weight,
                  {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups}));
  }
  if (c.wants(1)) {
    c.give(1,
           conv2d_weight_gradient(g, dy,
                                  {.kernel = {weight.dim(2).constant(), weight.dim(3).constant()},
                                   .stride = stride,
                                   .padding = padding,
                                   .dilation = dilation,
                                   .groups = groups}));
  }
}

}  // namespace

Op conv2d_input_gradient() {
  Op op(
      "conv2d_input_gradient(dy, weight; size: ints, stride: ints = [1, 1], "
      "padding: ints = [0, 0, 0, 0], dilation: ints = [1, 1], groups: int = 1, "
      "layout: string = \"nchw\")");
  op.doc =
      "The gradient of conv2d by its images, which have the height and width `size`: a transposed "
      "convolution of dy [N, K, P, Q] with weight [K, C/groups, R, S], giving [N, C, H, W].";
  op.traits = bits(Trait::library);
  op.type = type;
  op.library_kernel = "conv2d_input_gradient";
  op.reference = reference;
  op.gradient = gradient;
  op.twin =
      "(lambda z: torch.autograd.grad(torch.nn.functional.conv2d(torch.nn.functional.pad(z, "
      "padding[2:] + padding[:2]), x[1], stride=stride, dilation=dilation, groups=groups), z, "
      "x[0], create_graph=True)[0])(torch.zeros([x[0].shape[0], x[1].shape[1] * groups] + size, "
      "dtype=x[0].dtype, requires_grad=True))";
  for (const ConvolutionCase& one : convolution_cases()) {
    Sample s;
    s.operands = {type_of(one.y()), type_of(one.weight)};
    s.attributes = one.attributes();
    s.attributes.push_back({"size", Ints{one.x[2], one.x[3]}});
    op.samples.push_back(s);
  }
  serve_both_layouts(op, {0}, {0});
  return op;
}

}  // namespace trireme::ops
