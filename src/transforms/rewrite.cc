#include "transforms/rewrite.h"

#include <unordered_set>
#include <utility>

namespace trireme::transforms {
namespace {

using Replacements = std::unordered_map<const ir::Value*, ir::Value*>;

void substitute(ir::Value*& value, const Replacements& replacements) {
  const auto found = replacements.find(value);
  if (found != replacements.end()) value = found->second;
}

void substitute(ir::Op& op, const Replacements& replacements) {
  for (ir::Value*& operand : op.operands) substitute(operand, replacements);
  for (const auto& block : op.blocks) {
    for (const auto& inner : block->ops) substitute(*inner, replacements);
    for (ir::Value*& result : block->results) substitute(result, replacements);
  }
}

using ValueSet = std::unordered_set<const ir::Value*>;

ValueSet assigned_parameters(const ir::Program& program) {
  ValueSet set;
  for (const auto& op : program.main().ops) {
    if (op->has(ir::Trait::side_effect)) set.insert(op->operands[0]);
  }
  return set;
}

// A value that was read from a parameter must not be replaced by the parameter itself if the
// parameter is assigned later. A reshape to the same shape reads it at this place.
ir::Value* read_now(ir::Builder& b, ir::Value* value, const ValueSet& assigned) {
  return assigned.contains(value) ? b.reshape(value, value->type.shape) : value;
}

}  // namespace

int rewrite(ir::Program& program, const Visit& visit) {
  ir::Block& block = program.main();
  ir::Builder b(program);
  const ValueSet assigned = assigned_parameters(program);
  std::vector<std::unique_ptr<ir::Op>> old = std::exchange(block.ops, {});
  std::vector<std::unique_ptr<ir::Op>> dropped;  // kept until nothing points to their results
  Replacements replacements;
  block.ops.reserve(old.size());
  for (std::unique_ptr<ir::Op>& op : old) {
    substitute(*op, replacements);
    const ir::Builder::LocationGuard guard(b, op->location);
    const Replacement values = visit(b, *op);
    if (!values) {
      block.ops.push_back(std::move(op));
      continue;
    }
    for (std::size_t i = 0; i < op->results.size(); ++i) {
      replacements[op->results[i].get()] = read_now(b, (*values)[i], assigned);
    }
    dropped.push_back(std::move(op));
  }
  for (ir::Value*& result : block.results) substitute(result, replacements);
  return static_cast<int>(dropped.size());
}

std::optional<double> known_constant(const ir::Value* value) {
  for (const ir::Op* op = value->producer; op != nullptr; op = op->operands[0]->producer) {
    if (op->has(ir::Trait::constant)) return get_attribute<double>(op->attributes, "value");
    if (!op->has(ir::Trait::reshape) && !op->has(ir::Trait::broadcast)) break;
  }
  return std::nullopt;
}

}  // namespace trireme::transforms
