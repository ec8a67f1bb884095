#include "ops/conv.h"
#include "ops/layout.h"

namespace trireme::ops {
namespace {

std::vector<Type> type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const Type& weight = c.operands[1];
  const Convolution convolution = convolution_of(c.attributes, weight.shape);
  require_convolution(convolution, x, weight, c.operand_texts[0], c.operand_texts[1]);
  return {result_type(convolution, x, weight, c.operand_texts[0])};
}

void reference(const Reference& r) {
  const Convolution convolution = convolution_of(r.op.attributes, r.op.operands[1]->type.shape);
  RefTensor& y = *r.results[0];
  for_each_product(convolution, r.operands[0]->shape, r.operands[1]->shape, y.shape,
                   [&](const Index& x, const Index& weight, const Index& out) {
                     at(y, out) += at(*r.operands[0], x) * at(*r.operands[1], weight);
                   });
}

void gradient(GradientContext& c) {
  using Ints = std::vector<std::int64_t>;
  const Attributes& a = c.op().attributes;
  const auto stride = ir::get<Ints>(a, "stride"), padding = ir::get<Ints>(a, "padding"),
             dilation = ir::get<Ints>(a, "dilation");
  const auto groups = ir::get<std::int64_t>(a, "groups");
  const Value x = c.operand(0), weight = c.operand(1), dy = c.gradient();
  if (c.wants(0)) {
    c.give(0, conv2d_input_gradient(dy, weight,
                                    {.size = {x.dim(2).constant(), x.dim(3).constant()},
                                     .stride = stride,
                                     .padding = padding,
                                     .dilation = dilation,
                                     .groups = groups}));
  }
  if (c.wants(1)) {
    c.give(1,
           conv2d_weight_gradient(x, dy,
                                  {.kernel = {weight.dim(2).constant(), weight.dim(3).constant()},
                                   .stride = stride,
                                   .padding = padding,
                                   .dilation = dilation,
                                   .groups = groups}));
  }
}

}  // namespace

Op conv2d() {
  Op op(
      "conv2d(x, weight; stride: ints = [1, 1], padding: ints = [0, 0, 0, 0], "
      "dilation: ints = [1, 1], groups: int = 1, "
      "layout: string = \"nchw\")");
  op.doc =
      "The two-dimensional convolution (without flipping the window, as is customary) of images x "
      "[N, C, H, W] with weight [K, C/groups, R, S], giving [N, K, P, Q] where "
      "P = (H + top + bottom - dilation * (R - 1) - 1) / stride + 1, rounded down, and Q alike. "
      "`padding` is top, bottom, left, right. H, W and the weight's shape are numbers; N may be a "
      "symbol.";
  op.traits = bits(Trait::library);
  op.type = type;
  op.library_kernel = "conv2d_forward";
  op.takes_epilogue = true;
  op.reference = reference;
  op.gradient = gradient;
  op.twin =
      "torch.nn.functional.conv2d(torch.nn.functional.pad(x[0], padding[2:] + padding[:2]), "
      "x[1], stride=stride, dilation=dilation, groups=groups)";
  for (const ConvolutionCase& one : convolution_cases()) {
    Sample s;
    s.operands = {type_of(one.x), type_of(one.weight)};
    s.attributes = one.attributes();
    op.samples.push_back(s);
  }
  serve_both_layouts(op, {0}, {0});
  return op;
}

}  // namespace trireme::ops
