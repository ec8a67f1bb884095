// Names these ops: add, maximum

#include "compiler/epilogue.h"

#include <algorithm>

#include "ops/op.h"
#include "transforms/rewrite.h"

namespace trireme::compiler {
namespace {

using ir::Op;
using ir::Trait;

// Returns the only op that uses `value`; null if there is none or several, or if a run returns it.
const Op* only_user(const ir::Program& program, const Dependencies& dependencies,
                    const ir::Value* value) {
  const auto& results = program.main().results;
  if (std::find(results.begin(), results.end(), value) != results.end()) return nullptr;
  const auto& users = dependencies.users(value);
  return users.size() == 1 ? users.front() : nullptr;
}

const ir::Value* other_operand(const Op& op, const ir::Value* value) {
  return op.operands[0] == value ? op.operands[1] : op.operands[0];
}

// Returns the parameter or input [channels] that `value` broadcasts along all but the last
// dimension, or null.
const ir::Value* broadcast_bias(const ir::Value* value) {
  const Op* op = value->producer;
  if (op == nullptr || !op->has(Trait::broadcast)) return nullptr;
  const auto& axes = get_attribute<std::vector<std::int64_t>>(op->attributes, "axes");
  const auto last = static_cast<std::int64_t>(value->type.shape.size()) - 1;
  const ir::Value* bias = op->operands[0];
  const bool ready = bias->producer == nullptr;
  return ready && axes == std::vector<std::int64_t>{last} ? bias : nullptr;
}

}  // namespace

Epilogue find_epilogue(const ir::Program& program, const Dependencies& dependencies, const Op& op) {
  Epilogue epilogue;
  const ops::Op& def = ops::Catalog::of(op);
  if (!def.takes_epilogue || op.result()->type.dtype != DType::f32) return epilogue;
  if (has_attribute(op.attributes, "layout") &&
      get_attribute<std::string>(op.attributes, "layout") != "nhwc") {
    return epilogue;
  }
  const Op* add = only_user(program, dependencies, op.result());
  if (add == nullptr || add->name() != "add") return epilogue;
  const ir::Value* spread = other_operand(*add, op.result());
  epilogue.bias = broadcast_bias(spread);
  if (epilogue.bias == nullptr) return {};
  if (only_user(program, dependencies, spread) == add) epilogue.ops.push_back(spread->producer);
  epilogue.ops.push_back(add);
  epilogue.result = add->result();

  const Op* relu = only_user(program, dependencies, add->result());
  if (relu != nullptr && relu->name() == "maximum" &&
      transforms::known_constant(other_operand(*relu, add->result())) == 0.0) {
    const ir::Value* zero = other_operand(*relu, add->result());
    if (only_user(program, dependencies, zero) == relu) epilogue.ops.push_back(zero->producer);
    epilogue.ops.push_back(relu);
    epilogue.relu = true;
    epilogue.result = relu->result();
  }
  return epilogue;
}

}  // namespace trireme::compiler
