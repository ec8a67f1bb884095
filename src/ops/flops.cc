#include "ops/flops.h"

namespace trireme::ops {
namespace {

using ir::Trait;

Dim elements(const ir::Value* value) { return product(value->type.shape); }

Dim contraction_flops(const ir::Op& op) {
  const Contraction c = Catalog::of(op).contraction(op);
  const Dim summed = op.operands[0]->type.shape.back();
  if (c.is_product()) return Dim(2) * elements(op.result()) * summed;
  return Dim(2 * c.kernel[0] * c.kernel[1] * summed.constant() / c.groups) * elements(op.result());
}

}  // namespace

FlopsRule no_flops() {
  return [](const ir::Op&) { return Dim(0); };
}

FlopsRule flop_per_element_of(int operand) {
  return [operand](const ir::Op& op) {
    return elements(op.operands[static_cast<std::size_t>(operand)]);
  };
}

FlopsRule flops_per_result(std::int64_t each) {
  return [each](const ir::Op& op) { return Dim(each) * elements(op.result()); };
}

FlopsRule flops_of_traits(const Op& op) {
  if (op.has(Trait::contraction)) return contraction_flops;
  if (op.has(Trait::reduction)) return flop_per_element_of(0);
  if (op.has(Trait::elementwise)) return flops_per_result(1);
  if (op.has(Trait::view) || op.has(Trait::generator)) return no_flops();
  if (op.control != ir::ControlFlow::none) return no_flops();  // the ops of its blocks count
  return {};
}

}  // namespace trireme::ops
