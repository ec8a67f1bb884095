#include "transforms/duplicate_cheap_ops.h"

#include "transforms/prune.h"
#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

bool is_free(const ir::Op& op) {
  return (op.has(ir::Trait::generator) && !op.has(ir::Trait::random)) ||
         op.has(ir::Trait::broadcast);
}

ir::Value* local_copy(ir::Builder& b, ir::Value* value) {
  const ir::Op* op = value->producer;
  if (op == nullptr || !is_free(*op)) return value;
  std::vector<ir::Value*> operands;
  for (ir::Value* operand : op->operands) operands.push_back(local_copy(b, operand));
  return b.make_like(*op, std::move(operands));
}

}  // namespace

void duplicate_cheap_ops(ir::Program& program) {
  rewrite(program, [&](ir::Builder& b, ir::Op& op) -> Replacement {
    if (is_free(op)) return std::nullopt;
    for (ir::Value*& operand : op.operands) operand = local_copy(b, operand);
    return std::nullopt;
  });
  prune(program, {.keep_side_effects = true});
}

}  // namespace trireme::transforms
