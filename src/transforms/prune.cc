#include "transforms/prune.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "ir/blocks.h"

namespace trireme::transforms {
namespace {

using ValueSet = std::unordered_set<const ir::Value*>;

using Symbols = std::unordered_set<std::string>;

void need_operands(const ir::Op& op, ValueSet& needed) {
  needed.insert(op.operands.begin(), op.operands.end());
  for (const auto& block : op.blocks) {
    for (const auto& inner : block->ops) need_operands(*inner, needed);
    needed.insert(block->results.begin(), block->results.end());
  }
}

bool is_needed(const ir::Op& op, const ValueSet& needed, const Symbols& symbols,
               bool keep_side_effects) {
  if (op.has(ir::Trait::side_effect)) return keep_side_effects;
  if (op.has(ir::Trait::makes_splits) && symbols.contains(op.result()->type.splits_of)) return true;
  return std::any_of(op.results.begin(), op.results.end(),
                     [&](const auto& result) { return needed.contains(result.get()); });
}

}  // namespace

void prune(ir::Program& program, const PruneOptions& options) {
  ir::Block& block = program.main();
  ValueSet needed(block.results.begin(), block.results.end());
  Symbols symbols;
  for (const ir::Value* result : block.results) ir::add_symbols(result->type.shape, symbols);
  std::vector<std::unique_ptr<ir::Op>> kept;
  for (auto op = block.ops.rbegin(); op != block.ops.rend(); ++op) {
    if (!is_needed(**op, needed, symbols, options.keep_side_effects)) continue;
    need_operands(**op, needed);
    ir::add_symbols(**op, symbols);
    kept.push_back(std::move(*op));
  }
  std::reverse(kept.begin(), kept.end());
  block.ops = std::move(kept);

  if (options.drop_inputs) {
    std::erase_if(block.arguments,
                  [&](const auto& value) { return !needed.contains(value.get()); });
    for (std::size_t i = 0; i < block.arguments.size(); ++i) {
      block.arguments[i]->index = static_cast<int>(i);
    }
  }
  if (options.drop_parameters) {
    program.remove_parameters(
        [&](const ir::Parameter& p) { return !needed.contains(p.value.get()); });
  }
}

}  // namespace trireme::transforms
