// Names these ops: copy

#include "transforms/copy_old_values.h"

#include <unordered_map>
#include <unordered_set>

#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

// The place of an op that reads a parameter; other ops use the result.
struct Read {
  const ir::Op* op;
  std::size_t place;
};

bool may_move(const ir::Op& op) {
  return op.has(ir::Trait::view) || (op.has(ir::Trait::elementwise) && op.operands.size() == 1);
}

class OldValues {
 public:
  explicit OldValues(const ir::Block& block) {
    for (const auto& op : block.ops) visit(*op);
    for (const ir::Value* result : block.results) use(result);
  }
  bool contains(const ir::Op& op) const { return copied_.contains(&op); }

 private:
  void visit(const ir::Op& op) {
    use_operands(op);
    ++place_;
    if (op.has(ir::Trait::side_effect)) assigned_[op.operands[0]] = place_;
    if (!may_move(op)) return;
    const ir::Value* operand = op.operands[0];
    const auto through = reads_.find(operand);
    if (operand->kind == ir::ValueKind::parameter) {
      reads_.emplace(op.result(), std::pair(operand, Read{&op, place_}));
    } else if (through != reads_.end()) {
      const auto read = through->second;
      reads_.emplace(op.result(), read);
    }
  }

  void use_operands(const ir::Op& op) {
    for (const ir::Value* operand : op.operands) use(operand);
    for (const auto& block : op.blocks) {
      for (const auto& inner : block->ops) use_operands(*inner);
      for (const ir::Value* result : block->results) use(result);
    }
  }

  void use(const ir::Value* value) {
    const auto found = reads_.find(value);
    if (found == reads_.end()) return;
    const auto& [parameter, read] = found->second;
    const auto assigned = assigned_.find(parameter);
    if (assigned != assigned_.end() && assigned->second > read.place) copied_.insert(read.op);
  }

  std::size_t place_ = 0;
  std::unordered_map<const ir::Value*, std::pair<const ir::Value*, Read>> reads_;
  std::unordered_map<const ir::Value*, std::size_t> assigned_;  // the place of the last assign
  std::unordered_set<const ir::Op*> copied_;
};

}  // namespace

void copy_old_values(ir::Program& program) {
  const OldValues old(program.main());
  rewrite(program, [&](ir::Builder& b, ir::Op& op) -> Replacement {
    if (old.contains(op)) op.operands[0] = b.make("copy", {op.operands[0]});
    return std::nullopt;
  });
}

}  // namespace trireme::transforms
