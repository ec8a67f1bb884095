#include "compiler/stages.h"

#include <algorithm>

namespace trireme::compiler {
namespace {

using ir::Trait;

bool is_costly(const ir::Op& op) {
  return (op.has(Trait::elementwise) || op.has(Trait::random)) && !op.has(Trait::cheap);
}

}  // namespace

Stages::Stages(const Group& group, const std::vector<Output>& outputs) : group_(group) {
  for (const ir::Op* op : group.ops) {
    int stage = 0;
    for (const ir::Value* operand : op->operands) stage = std::max(stage, stage_of(operand));
    if (op->has(Trait::reduction)) {
      pass_[op] = stage;
      count_ = std::max(count_, stage + 1);
      ++stage;
    }
    for (const auto& result : op->results) stage_[result.get()] = stage;
  }
  for (const Output& output : outputs) {
    const bool full =
        group.domain.is_full(output.value->type.shape) &&
        !(output.value->producer != nullptr && output.value->producer->has(Trait::reduction));
    if (full) count_ = std::max(count_, stage_of(output.value) + 1);
  }
  reductions_.resize(static_cast<std::size_t>(count_));
  for (const ir::Op* op : group.ops) {
    if (op->has(Trait::reduction))
      reductions_[static_cast<std::size_t>(pass_.at(op))].push_back(op);
  }
  kept_.resize(static_cast<std::size_t>(count_));
  if (group.domain.has_reduction) find_kept(group, outputs);
}

int Stages::stage_of(const ir::Value* value) const {
  const auto found = stage_.find(value);
  return found == stage_.end() ? 0 : found->second;
}

const std::vector<const ir::Op*>& Stages::reductions(int stage) const {
  return reductions_[static_cast<std::size_t>(stage)];
}

const std::vector<const ir::Value*>& Stages::kept(int stage) const {
  return kept_[static_cast<std::size_t>(stage)];
}

void Stages::find_kept(const Group& group, const std::vector<Output>& outputs) {
  for (const ir::Op* op : group.ops) {
    if (op->has(Trait::reduction)) record_use(op->operands[0], pass_.at(op));
  }
  for (const Output& output : outputs) {
    if (group.domain.is_full(output.value->type.shape)) record_use(output.value, count_ - 1);
  }
  for (const ir::Op* op : group.ops) {
    if (!is_costly(*op) || op->results.empty()) continue;
    const ir::Value* value = op->result();
    const auto last = last_use_.find(value);
    if (last == last_use_.end() || !group.domain.is_full(value->type.shape)) continue;
    const int first = stage_of(value);
    if (last->second > first) kept_[static_cast<std::size_t>(first)].push_back(value);
  }
}

// Records that `value` is computed in `pass`, and so are its operands. A kept expensive value is
// not recomputed; its operands were recorded for its first pass.
void Stages::record_use(const ir::Value* value, int pass) {
  const auto here = stage_.find(value);
  if (here == stage_.end() || value->producer->has(Trait::reduction)) return;
  int& last = last_use_.try_emplace(value, -1).first->second;
  if (last >= pass) return;
  last = pass;
  const bool kept = is_costly(*value->producer) && here->second < pass &&
                    group_.domain.is_full(value->type.shape);
  for (const ir::Value* operand : value->producer->operands) {
    record_use(operand, kept ? here->second : pass);
  }
}

}  // namespace trireme::compiler
