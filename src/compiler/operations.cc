#include "compiler/operations.h"

#include <string>
#include <string_view>

#include "ops/op.h"

namespace trireme::compiler {
namespace {

using ir::Op;
using ir::Trait;

Dim elements(const ir::Value* value) { return product(value->type.shape); }

// Counts one operation for each element of the first, or the second, operand.
Dim first(const Op& op) { return elements(op.operands[0]); }
Dim second(const Op& op) { return elements(op.operands[1]); }

Dim count_matmul(const Op& op) {
  const Shape& x = op.operands[0]->type.shape;
  return Dim(2) * elements(op.result()) *
         x[x.size() - (ir::get<bool>(op.attributes, "transpose_a") ? 2 : 1)];
}

// Every element of the images y is a sum over the weight of one output channel. `layout` gives the
// position of the channels in y.
Dim count_convolution(const Op& op, const ir::Value* y, const ir::Value* weight) {
  const bool last = ir::get<std::string>(op.attributes, "layout") == "nhwc";
  const Shape& image = y->type.shape;
  const std::int64_t channels = (last ? image.back() : image[1]).constant();
  return Dim(2 * elements(weight).constant() / channels) * elements(y);
}

Dim of_forward(const Op& op) { return count_convolution(op, op.result(), op.operands[1]); }
Dim of_input_gradient(const Op& op) {
  return count_convolution(op, op.operands[0], op.operands[1]);
}
Dim of_weight_gradient(const Op& op) { return count_convolution(op, op.operands[1], op.result()); }

Dim of_pool(const Op& op) {
  std::int64_t window = 1;
  for (const std::int64_t size : ir::get<std::vector<std::int64_t>>(op.attributes, "kernel")) {
    window *= size;
  }
  return Dim(window) * elements(op.result());
}

// Contractions that become generated kernels.
Dim of_contraction(const Op& op) {
  const ops::Contraction c = ops::Catalog::of(op).contraction(op);
  const Dim summed = op.operands[0]->type.shape.back();
  if (c.is_product()) return Dim(2) * elements(op.result()) * summed;
  return Dim(2 * c.kernel[0] * c.kernel[1] * summed.constant() / c.groups) * elements(op.result());
}

struct Rule {
  std::string_view op;
  Dim (*count)(const Op& op);
};

constexpr Rule kRules[] = {
    {"matmul", count_matmul},
    {"conv2d", of_forward},
    {"conv3d", of_forward},
    {"conv2d_input_gradient", of_input_gradient},
    {"conv3d_input_gradient", of_input_gradient},
    {"conv2d_weight_gradient", of_weight_gradient},
    {"conv3d_weight_gradient", of_weight_gradient},
    {"avg_pool", of_pool},
    {"avg_pool_gradient", first},
    {"max_pool", of_pool},
    {"max_pool_gradient", first},
    {"cumsum", first},
    {"scatter_add", second},
    {"scatter_add_along_axis", second},
    {"scatter_add_nd", second},
    {"segment_max", first},
    {"segment_sum", first},
    {"sum_rows", second},
};

}  // namespace

Dim operations(const Op& op) {
  for (const Rule& rule : kRules) {
    if (rule.op == op.name()) return rule.count(op);
  }
  if (op.has(Trait::contraction)) return of_contraction(op);
  if (op.has(Trait::reduction)) return elements(op.operands[0]);
  if (op.has(Trait::elementwise)) return elements(op.result());
  return 0;
}

}  // namespace trireme::compiler
