#include "ops/conv.h"
#include "ops/layout.h"

namespace trireme::ops {
namespace {

// With padding, strides, dilation along each axis, one channel, groups, and depthwise.
std::vector<Sample> samples_of_bytes() {
  const std::vector<std::int64_t> around{1, 1, 1, 1};
  std::vector<Sample> samples;
  const auto add = [&](const ConvolutionCase& test_case, DType dtype) {
    Sample s;
    s.operands = {type_of(test_case.x), type_of(test_case.weight)};
    s.attributes = test_case.attributes();
    samples.push_back(of_bytes(s, dtype));
  };
  add({.x = {2, 3, 6, 7}, .weight = {18, 3, 3, 3}, .padding = around}, DType::u8);
  add({.x = {2, 3, 6, 7}, .weight = {5, 3, 3, 3}, .padding = around}, DType::i8);
  add({.x = {1, 8, 9, 9}, .weight = {8, 8, 1, 1}, .stride = {2, 2}}, DType::i8);
  add({.x = {1, 1, 9, 9}, .weight = {6, 1, 5, 5}}, DType::u8);
  add({.x = {1, 4, 9, 9}, .weight = {6, 4, 3, 3}, .dilation = {2, 1}}, DType::u8);
  add({.x = {1, 4, 9, 9}, .weight = {6, 4, 3, 3}, .padding = around, .dilation = {1, 2}},
      DType::i8);
  add({.x = {1, 4, 5, 5}, .weight = {6, 2, 3, 3}, .padding = around, .groups = 2}, DType::u8);
  add({.x = {1, 6, 5, 5}, .weight = {6, 1, 3, 3}, .padding = around, .groups = 6}, DType::i8);
  add({.x = {0, 3, 5, 5}, .weight = {6, 3, 3, 3}}, DType::u8);
  return samples;
}

}  // namespace

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
      "(lambda x, w: torch.nn.functional.conv2d(torch.nn.functional.pad(x, padding[2:] + "
      "padding[:2]), w, stride=stride, dilation=dilation, groups=groups))(*(t if "
      "t.is_floating_point() else t.double() for t in x))";
  op.samples = joined({convolution_samples(2), samples_of_bytes()});
  serve_both_layouts(op, {0}, {0});
  return op;
}

}  // namespace trireme::ops
