#include "transforms/select_updates.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/builder.h"

namespace trireme::transforms {
namespace {

using OpSet = std::unordered_set<const ir::Op*>;

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Makes the ops of the set read zeros instead of the gradients of frozen parameters.
void replace_gradients(ir::Program& program, const ir::UpdateSet& set,
                       const std::vector<std::string>& frozen) {
  std::unordered_set<const ir::Value*> gradients;
  for (const ir::UpdatedParameter& each : set.parameters) {
    if (contains(frozen, each.parameter->name)) gradients.insert(each.clipped);
  }
  if (gradients.empty()) return;
  std::unordered_map<const ir::Value*, ir::Value*> zeros;
  ir::Builder builder(program);
  auto& main = program.main().ops;
  for (std::unique_ptr<ir::Op>& op : std::exchange(main, {})) {
    if (ir::update_of(*op) == std::optional<std::string_view>(set.name)) {
      for (ir::Value*& operand : op->operands) {
        if (!gradients.contains(operand)) continue;
        ir::Value*& zero = zeros[operand];
        if (zero == nullptr) zero = builder.constant(operand->type, 0);
        operand = zero;
      }
    }
    main.push_back(std::move(op));
  }
}

bool is_unwanted(const ir::Program& program, const ir::Op& op,
                 const std::vector<std::string>& names, const std::vector<std::string>& frozen) {
  if (!op.has(ir::Trait::side_effect)) return false;
  const std::optional<std::string_view> update = ir::update_of(op);
  if (!update) return false;
  if (!names.empty() && !contains(names, *update)) return true;
  return !frozen.empty() && contains(frozen, ir::owner_of_state(program, op.operands[0]->name));
}

// The ops that the results and, of the ops with side effects, those of optimizers need.
OpSet needed_ops(const ir::Program& program) {
  std::unordered_set<const ir::Value*> values(program.main().results.begin(),
                                              program.main().results.end());
  OpSet needed;
  const auto& ops = program.main().ops;
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    const bool updates = (*op)->has(ir::Trait::side_effect) && ir::update_of(**op);
    const bool used =
        std::any_of((*op)->results.begin(), (*op)->results.end(),
                    [&](const auto& result) { return values.contains(result.get()); });
    if (!updates && !used) continue;
    needed.insert(op->get());
    values.insert((*op)->operands.begin(), (*op)->operands.end());
  }
  return needed;
}

// Whether `op` reads an input other than by values that are needed anyway.
bool reads_more(const ir::Op& op, const OpSet& needed) {
  std::vector<const ir::Op*> waiting = {&op};
  OpSet seen;
  while (!waiting.empty()) {
    const ir::Op* next = waiting.back();
    waiting.pop_back();
    for (const ir::Value* operand : next->operands) {
      if (operand->kind == ir::ValueKind::argument) return true;
      const ir::Op* producer = operand->producer;
      if (producer == nullptr || needed.contains(producer)) continue;
      if (seen.insert(producer).second) waiting.push_back(producer);
    }
  }
  return false;
}

}  // namespace

void select_updates(ir::Program& program, const std::vector<std::string>& names,
                    const std::vector<std::string>& frozen) {
  if (!frozen.empty()) {
    for (const ir::UpdateSet& set : program.updates) replace_gradients(program, set, frozen);
  }
  program.updates.clear();
  if (names.empty() && frozen.empty()) return;
  std::erase_if(program.main().ops,
                [&](const auto& op) { return is_unwanted(program, *op, names, frozen); });
}

void drop_idle_assigns(ir::Program& program) {
  const OpSet needed = needed_ops(program);
  std::erase_if(program.main().ops, [&](const auto& op) {
    return op->has(ir::Trait::side_effect) && !needed.contains(op.get()) && reads_more(*op, needed);
  });
}

}  // namespace trireme::transforms
