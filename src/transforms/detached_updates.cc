#include "transforms/detached_updates.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace trireme::transforms {

DetachedUpdates::DetachedUpdates(ir::Program& program) : program_(program) {
  if (ir::names_of_updates(program).empty()) return;
  std::unordered_set<const ir::Op*> detached;
  std::vector<std::unique_ptr<ir::Op>> kept;
  for (std::unique_ptr<ir::Op>& op : std::exchange(program.main().ops, {})) {
    const bool uses =
        std::any_of(op->operands.begin(), op->operands.end(),
                    [&](const ir::Value* operand) { return detached.contains(operand->producer); });
    if (!uses && !ir::update_of(*op)) {
      kept.push_back(std::move(op));
      continue;
    }
    detached.insert(op.get());
    ops_.push_back(std::move(op));
  }
  program.main().ops = std::move(kept);
}

DetachedUpdates::~DetachedUpdates() {
  auto& ops = program_.main().ops;
  ops.insert(ops.end(), std::make_move_iterator(ops_.begin()), std::make_move_iterator(ops_.end()));
}

bool DetachedUpdates::contains(const ir::Value& value) const {
  return std::any_of(ops_.begin(), ops_.end(),
                     [&](const auto& op) { return op.get() == value.producer; });
}

}  // namespace trireme::transforms
