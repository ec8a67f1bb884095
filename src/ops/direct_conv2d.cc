#include <algorithm>

#include "ops/conv.h"

namespace trireme::ops {
namespace {

using Ints = std::vector<std::int64_t>;

// The rules of conv2d expect x [N, C, H, W], weight [K, C/groups, R, S] and y [N, K, P, Q].
template <class T>
std::vector<T> image_first(const std::vector<T>& v) {
  return {v[0], v[3], v[1], v[2]};
}
template <class T>
std::vector<T> image_last(const std::vector<T>& v) {
  return {v[0], v[2], v[3], v[1]};
}
template <class T>
std::vector<T> weight_first(const std::vector<T>& v) {
  return {v[3], v[2], v[0], v[1]};
}
template <class T>
std::vector<T> weight_last(const std::vector<T>& v) {
  return {v[2], v[3], v[1], v[0]};
}

const Ints kImageFirst = {0, 3, 1, 2}, kImageLast = {0, 2, 3, 1};
const Ints kWeightFirst = {3, 2, 0, 1}, kWeightLast = {2, 3, 1, 0};

Type to_conv2d_order(Type type, bool image) {
  require(type.rank() == 4, "x and weight need four dimensions each",
          "x is [N, H, W, C] and weight [R, S, C/groups, K]");
  type.shape = image ? image_first(type.shape) : weight_first(type.shape);
  return type;
}

std::vector<Type> direct_conv2d_type(const TypeContext& c) {
  const std::vector<Type> operands = {to_conv2d_order(c.operands[0], true),
                                      to_conv2d_order(c.operands[1], false)};
  std::vector<Type> results =
      convolution_type(2)(TypeContext{operands, c.attributes, c.operand_texts});
  results[0].shape = image_last(results[0].shape);
  return results;
}

void direct_conv2d_reference(const Reference& r) {
  const Shape weight = weight_first(r.op.operands[1]->type.shape);
  const Convolution convolution = convolution_of(r.op.attributes, weight, 2);
  RefTensor& y = *r.results[0];
  for_each_product(convolution, image_first(r.operands[0]->shape),
                   weight_first(r.operands[1]->shape), image_first(y.shape),
                   [&](const Index& i, const Index& w, const Index& out) {
                     at(y, image_last(out)) +=
                         at(*r.operands[0], image_last(i)) * at(*r.operands[1], weight_last(w));
                   });
}

void direct_conv2d_gradient_rule(GradientContext& c) {
  const ConvolutionFamily family(c.op().attributes, 2);
  const Value x = c.operand(0), weight = c.operand(1);
  const Value dy = transpose(c.gradient(), {.permutation = kImageFirst});
  if (c.needs_gradient(0)) {
    const Value dx = family.dx(dy, transpose(weight, {.permutation = kWeightFirst}),
                               {x.dim(1).constant(), x.dim(2).constant()});
    c.accumulate(0, transpose(dx, {.permutation = kImageLast}));
  }
  if (c.needs_gradient(1)) {
    const Value dweight = family.dweight(transpose(x, {.permutation = kImageFirst}), dy,
                                         {weight.dim(0).constant(), weight.dim(1).constant()});
    c.accumulate(1, transpose(dweight, {.permutation = kWeightLast}));
  }
}

Contraction contraction(const ir::Op& op) {
  const Convolution convolution =
      convolution_of(op.attributes, weight_first(op.operands[1]->type.shape), 2);
  const Window& window = convolution.window;
  Contraction result{.windows = true, .groups = convolution.groups};
  std::copy_n(window.kernel.begin(), 2, result.kernel.begin());
  std::copy_n(window.stride.begin(), 2, result.stride.begin());
  std::copy_n(window.dilation.begin(), 2, result.dilation.begin());
  std::copy_n(window.padding.begin(), 4, result.padding.begin());
  return result;
}

// Sizes that exercise the scheduler: several tiles, partial tiles, and more channels than a vector
// has lanes.
std::vector<ConvolutionCase> larger_cases() {
  return {
      {.x = {2, 3, 9, 9}, .weight = {33, 3, 3, 3}, .padding = {1, 1, 1, 1}},
      {.x = {1, 2, 5, 31}, .weight = {64, 2, 3, 3}, .stride = {2, 2}, .padding = {1, 1, 1, 1}},
      {.x = {2, 16, 7, 7}, .weight = {16, 16, 1, 1}},
      {.x = {2, 40, 6, 5},
       .weight = {40, 1, 3, 3},
       .stride = {1, 2},
       .padding = {1, 1, 1, 1},
       .groups = 40},
      {.x = {1, 4, 5, 5}, .weight = {40, 2, 5, 5}, .padding = {2, 2, 2, 2}, .groups = 2},
      {.x = {1, 3, 12, 12}, .weight = {8, 3, 7, 7}, .stride = {2, 2}, .padding = {3, 3, 3, 3}},
  };
}

}  // namespace

Op direct_conv2d() {
  Op op(
      "direct_conv2d(x, weight; stride: ints = [1, 1], padding: ints = [0, 0, 0, 0], "
      "dilation: ints = [1, 1], groups: int = 1)");
  op.doc =
      "conv2d with images x [N, H, W, C], weight [R, S, C/groups, K] and result [N, P, Q, K].\n"
      "The output channels of the weight are contiguous, as vector code needs them.\n"
      "It always becomes a generated kernel, fused with the elementwise ops that follow it.\n"
      "The compiler replaces conv2d with it where that is faster.";
  op.traits = Trait::contraction | Trait::internal;
  op.type = direct_conv2d_type;
  op.contraction = contraction;
  op.reference = direct_conv2d_reference;
  op.gradient = direct_conv2d_gradient_rule;
  op.torch_reference =
      "torch.nn.functional.conv2d(torch.nn.functional.pad(x[0].permute(0, 3, 1, 2), "
      "padding[2:] + padding[:2]), x[1].permute(3, 2, 0, 1), stride=stride, dilation=dilation, "
      "groups=groups).permute(0, 2, 3, 1)";
  const auto add = [&](const ConvolutionCase& test_case, bool check_gradient) {
    Sample s;
    s.operands = {type_of(image_last(test_case.x)), type_of(weight_last(test_case.weight))};
    s.attributes = test_case.attributes();
    s.tolerance = 3e-5;  // sums of up to a few hundred products, also in the gradients
    s.check_gradient = check_gradient;
    op.samples.push_back(s);
  };
  for (const ConvolutionCase& one : convolution_cases(2)) add(one, true);
  for (const ConvolutionCase& one : larger_cases())
    add(one, false);  // finite differences would take too long
  return op;
}

}  // namespace trireme::ops
