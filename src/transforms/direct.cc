#include "transforms/direct.h"

#include <utility>

#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;
using Replacement = std::optional<std::vector<ir::Value*>>;

ir::Value* transposed(ir::Program& program, const ir::Op& like, ir::Value* x,
                      const Integers& permutation) {
  return make(program, like, "transpose", {x}, {{"permutation", permutation}});
}

Replacement direct_convolution(ir::Program& program, const ir::Op& op) {
  if (ir::get<std::string>(op.attributes, "layout") != "nhwc") return std::nullopt;
  ir::Value* weight = transposed(program, op, op.operands[1], {2, 3, 1, 0});
  Attributes attributes;
  for (const char* name : {"dilation", "padding", "stride"}) {
    ir::set(attributes, name, ir::get<Integers>(op.attributes, name));
  }
  ir::set(attributes, "groups", ir::get<std::int64_t>(op.attributes, "groups"));
  return {{make(program, op, "direct_conv2d", {op.operands[0], weight}, std::move(attributes))}};
}

Replacement direct_input_gradient(ir::Program& program, const ir::Op& op) {
  const ir::Value* weight = op.operands[1];
  const auto groups = ir::get<std::int64_t>(op.attributes, "groups");
  const bool depthwise = weight->type.shape[1] == Dim(1) && weight->type.shape[0] == Dim(groups);
  if (ir::get<std::string>(op.attributes, "layout") != "nhwc" || (groups != 1 && !depthwise) ||
      ir::get<Integers>(op.attributes, "stride") != Integers{1, 1}) {
    return std::nullopt;
  }
  const auto dilation = ir::get<Integers>(op.attributes, "dilation");
  Integers padding = ir::get<Integers>(op.attributes, "padding");  // top, bottom, left, right
  for (std::size_t i = 0; i < padding.size(); ++i) {
    padding[i] = dilation[i / 2] * (weight->type.shape[2 + i / 2].constant() - 1) - padding[i];
    if (padding[i] < 0) return std::nullopt;
  }
  ir::Value* ordered = transposed(program, op, op.operands[1],
                                  depthwise ? Integers{2, 3, 1, 0} : Integers{2, 3, 0, 1});
  ir::Value* turned = make(program, op, "flip", {ordered}, {{"axes", Integers{0, 1}}});
  return {{make(program, op, "direct_conv2d", {op.operands[0], turned},
                {{"dilation", dilation},
                 {"groups", groups},
                 {"padding", padding},
                 {"stride", Integers{1, 1}}})}};
}

ir::Value* last_two_swapped(ir::Program& program, const ir::Op& op, ir::Value* x) {
  Integers permutation;
  for (int i = 0; i < x->type.rank(); ++i) permutation.push_back(i);
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return transposed(program, op, x, permutation);
}

Replacement direct_product(ir::Program& program, const ir::Op& op) {
  std::vector<ir::Value*> operands = op.operands;
  if (ir::get<bool>(op.attributes, "transpose_a")) {
    operands[0] = last_two_swapped(program, op, operands[0]);
  }
  if (ir::get<bool>(op.attributes, "transpose_b")) {
    operands[1] = last_two_swapped(program, op, operands[1]);
  }
  return {{make(program, op, "direct_matmul", std::move(operands))}};
}

}  // namespace

void use_direct_kernels(ir::Program& program, const std::function<bool(const ir::Op&)>& wanted) {
  rewrite(program, [&](ir::Op& op) -> Replacement {
    if (op.name() == "conv2d" && wanted(op)) return direct_convolution(program, op);
    if (op.name() == "conv2d_input_gradient" && wanted(op)) {
      return direct_input_gradient(program, op);
    }
    if (op.name() == "matmul" && wanted(op)) return direct_product(program, op);
    return std::nullopt;
  });
}

}  // namespace trireme::transforms
