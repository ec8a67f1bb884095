#include "transforms/select_updates.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace trireme::transforms {
namespace {

using ValueSet = std::unordered_set<const ir::Value*>;

void need_operands(const ir::Op& op, ValueSet& needed) {
  needed.insert(op.operands.begin(), op.operands.end());
  for (const auto& block : op.blocks) {
    for (const auto& inner : block->ops) need_operands(*inner, needed);
    needed.insert(block->results.begin(), block->results.end());
  }
}

// Whether an update changes the parameter or its state, which is called PARAMETER.SOMETHING.
bool changes(const ir::Op& op, const std::string& parameter) {
  const std::string& name = op.operands[0]->name;
  if (name == parameter) return true;
  const bool is_state = !op.operands[0]->program->parameter_of(op.operands[0]).trainable;
  return is_state && name.size() > parameter.size() && name.starts_with(parameter) &&
         name[parameter.size()] == '.';
}

bool is_frozen(const ir::Op& op, const std::set<std::string>& frozen) {
  return std::any_of(frozen.begin(), frozen.end(),
                     [&](const std::string& parameter) { return changes(op, parameter); });
}

bool is_selected(const ir::Op& op, const UpdateSelection& selection) {
  const std::optional<std::string> update = ir::name_of_update(op);
  if (!update) return false;
  const auto& names = selection.names;
  return (names.empty() || std::find(names.begin(), names.end(), *update) != names.end()) &&
         !is_frozen(op, selection.frozen);
}

// What the results of the Program and the selected updates need.
ValueSet needed_values(const ir::Block& block, const std::unordered_set<const ir::Op*>& selected) {
  ValueSet needed(block.results.begin(), block.results.end());
  for (auto op = block.ops.rbegin(); op != block.ops.rend(); ++op) {
    const bool is_needed =
        selected.contains(op->get()) ||
        std::any_of((*op)->results.begin(), (*op)->results.end(),
                    [&](const auto& result) { return needed.contains(result.get()); });
    if (is_needed) need_operands(**op, needed);
  }
  return needed;
}

// Whether a value can be computed from needed values and parameters, without an input that nothing
// else reads.
class Reachable {
 public:
  explicit Reachable(const ValueSet& needed) : needed_(needed) {}
  bool operator()(const ir::Value* value) {
    if (value->kind == ir::ValueKind::parameter || needed_.contains(value)) return true;
    if (value->kind == ir::ValueKind::argument) return false;
    const auto [known, is_new] = found_.emplace(value, false);
    if (!is_new) return known->second;
    ValueSet read;
    need_operands(*value->producer, read);
    const bool reachable = std::all_of(read.begin(), read.end(), [&](const ir::Value* operand) {
      return is_inside(*operand, *value->producer) || (*this)(operand);
    });
    return found_[value] = reachable;
  }

 private:
  // Whether a nested block of the op defines the value.
  static bool is_inside(const ir::Value& value, const ir::Op& op) {
    for (const ir::Block* block = value.block; block != nullptr;
         block = block->owner == nullptr ? nullptr : block->owner->parent) {
      if (block->owner == &op) return true;
    }
    return false;
  }

  const ValueSet& needed_;
  std::unordered_map<const ir::Value*, bool> found_;
};

}  // namespace

void select_updates(ir::Program& program, const UpdateSelection& selection) {
  if (selection.names.empty() && selection.frozen.empty()) return;
  ir::Block& block = program.main();
  std::unordered_set<const ir::Op*> selected;
  for (const auto& op : block.ops) {
    if (op->has(ir::Trait::side_effect) && is_selected(*op, selection)) selected.insert(op.get());
  }
  const ValueSet needed = needed_values(block, selected);
  Reachable reachable(needed);
  std::erase_if(block.ops, [&](const auto& op) {
    if (!op->has(ir::Trait::side_effect) || !op->results.empty() || selected.contains(op.get())) {
      return false;
    }
    if (ir::name_of_update(*op)) return true;
    return !selection.names.empty() &&
           !std::all_of(op->operands.begin(), op->operands.end(),
                        [&](const ir::Value* operand) { return reachable(operand); });
  });
}

}  // namespace trireme::transforms
