#include "compiler/operations.h"

#include <string>
#include <string_view>

#include "ops/op.h"

namespace trireme::compiler {
namespace {

using ir::Op;
using ir::Trait;

Dim elements(const ir::Value* value) { return product(value->type.shape); }

// Of the first operand, or the second, each number of which is added to something.
Dim first(const Op& op) { return elements(op.operands[0]); }
Dim second(const Op& op) { return elements(op.operands[1]); }

Dim of_matmul(const Op& op) {
  const Shape& x = op.operands[0]->type.shape;
  return Dim(2) * elements(op.result()) *
         x[x.size() - (ir::get<bool>(op.attributes, "transpose_a") ? 2 : 1)];
}

// Every element of the images y is a sum over the weight without its output channels; y and weight have
// these where `layout` says.
Dim of_convolution(const Op& op, const ir::Value* y, const ir::Value* weight) {
  const bool last = ir::get<std::string>(op.attributes, "layout") == "nhwc";
  const Shape& image = y->type.shape;
  const std::int64_t channels = (last ? image.back() : image[1]).constant();
  return Dim(2 * elements(weight).constant() / channels) * elements(y);
}

Dim forwards(const Op& op) { return of_convolution(op, op.result(), op.operands[1]); }
Dim to_input(const Op& op) { return of_convolution(op, op.operands[0], op.operands[1]); }
Dim to_weight(const Op& op) { return of_convolution(op, op.operands[1], op.result()); }

Dim of_pool(const Op& op) {
  std::int64_t window = 1;
  for (const std::int64_t size : ir::get<std::vector<std::int64_t>>(op.attributes, "kernel")) {
    window *= size;
  }
  return Dim(window) * elements(op.result());
}

// Contractions that become kernels of ours.
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
    {"matmul", of_matmul},
    {"conv2d", forwards},
    {"conv3d", forwards},
    {"conv2d_input_gradient", to_input},
    {"conv3d_input_gradient", to_input},
    {"conv2d_weight_gradient", to_weight},
    {"conv3d_weight_gradient", to_weight},
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
