// Names these ops: assign

#include "transforms/take_assigns.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace trireme::transforms {
namespace {

using ValueMap = std::unordered_map<const ir::Value*, ir::Value*>;

void replace_reads(ir::Value*& value, const ValueMap& values) {
  const auto found = values.find(value);
  if (found != values.end()) value = found->second;
}

void replace_reads(ir::Op& op, const ValueMap& values) {
  const std::size_t first =
      op.has(ir::Trait::side_effect) ? 1 : 0;  // operand 0, the parameter, is written
  for (std::size_t i = first; i < op.operands.size(); ++i) replace_reads(op.operands[i], values);
  for (const auto& block : op.blocks) {
    for (const auto& inner : block->ops) replace_reads(*inner, values);
    for (ir::Value*& result : block->results) replace_reads(result, values);
  }
}

std::unordered_set<const ir::Value*> wanted(
    const ir::Program& program, const std::function<bool(const ir::Parameter&)>& chosen) {
  std::unordered_set<const ir::Value*> result;
  for (const auto& parameter : program.parameters()) {
    if (chosen(*parameter)) result.insert(parameter->value.get());
  }
  for (const auto& op : program.main().ops) {
    if (op->has(ir::Trait::side_effect) && op->name() != "assign") result.erase(op->operands[0]);
  }
  return result;
}

}  // namespace

std::vector<TakenAssign> take_assigns(ir::Program& program,
                                      const std::function<bool(const ir::Parameter&)>& chosen) {
  const std::unordered_set<const ir::Value*> parameters = wanted(program, chosen);
  std::vector<TakenAssign> taken;
  ValueMap values;
  auto& ops = program.main().ops;
  for (std::unique_ptr<ir::Op>& op : std::exchange(ops, {})) {
    replace_reads(*op, values);
    if (op->name() == "assign" && parameters.contains(op->operands[0])) {
      const auto [known, first] = values.insert_or_assign(op->operands[0], op->operands[1]);
      if (first) taken.push_back({op->operands[0], nullptr});
    } else {
      ops.push_back(std::move(op));
    }
  }
  for (TakenAssign& each : taken) each.value = values.at(each.parameter);
  return taken;
}

}  // namespace trireme::transforms
