#include "session/compress/masks.h"

#include <fmt/core.h>

#include <memory>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "ir/blocks.h"
#include "trireme/ops.h"
#include "trireme/pruning.h"

namespace trireme {
namespace {

using compression::MaskedWeight;
using Replacements = std::unordered_map<const ir::Value*, ir::Value*>;

std::vector<ir::Parameter*> matching(const ir::Program& program,
                                     const std::vector<std::string>& patterns) {
  std::vector<ir::Parameter*> found;
  std::vector<bool> used(patterns.size());
  for (const auto& parameter : program.parameters()) {
    bool matches = false;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (!parameter->trainable || parameter->value->type.dtype != f32 ||
          !ir::matches(patterns[i], parameter->name())) {
        continue;
      }
      used[i] = matches = true;
    }
    if (matches) found.push_back(parameter.get());
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (used[i]) continue;
    throw Error(ErrorKind::not_found,
                fmt::format("add_masks: no trainable f32 parameter matches \"{}\"\n"
                            "  hint   * matches any characters: \"conv2d_0.*\"",
                            patterns[i]));
  }
  return found;
}

// The product that replaces a weight.
ir::Value* masked(Program& program, const ir::Parameter& parameter, const MaskOptions& options) {
  const Value weight(parameter.value.get());
  const std::string& name = parameter.name();
  // The layer of the weight is part of its name already.
  const Value mask = program.parameter(
      name + compression::kMask, f32, weight.shape(),
      {.initializer = {.name = "constant", .attributes = {{"value", 1.0}}}, .trainable = false});
  Value product = weight * mask;
  if (options.dense_gradients) {
    product = stop_gradient(product) + (weight - stop_gradient(weight));
  }
  if (options.movement) {
    const Value score =
        program.parameter(name + compression::kScore, f32, weight.shape(),
                          {.initializer = {.name = "constant", .attributes = {{"value", 0.0}}},
                           .settings = {.learning_rate = options.score_rate, .weight_decay = 0}});
    const Value path = score * stop_gradient(weight);
    product = product + (path - stop_gradient(path));
  }
  return product.get();
}

void check(const ir::Program& program, const MaskOptions& options) {
  if (!program.updates.empty() || !ir::names_of_updates(program).empty()) {
    fail_usage(
        "add_masks: the Program has updates already\n"
        "  hint   add masks before minimize() and before making a Trainer");
  }
  if (!(options.score_rate > 0)) {
    fail_usage(fmt::format("add_masks: score_rate is {}; it is above 0", options.score_rate));
  }
}

// Replaces values that ops read, also in nested blocks, and results.
void replace(std::vector<std::unique_ptr<ir::Op>>& ops, std::vector<ir::Value*>& results,
             const Replacements& replacements) {
  const auto substitute = [&](ir::Value*& value) {
    const auto found = replacements.find(value);
    if (found != replacements.end()) value = found->second;
  };
  for (const auto& op : ops) {
    // An assign writes to the parameter.
    const std::size_t first = op->has(ir::Trait::side_effect) ? 1 : 0;
    for (std::size_t i = first; i < op->operands.size(); ++i) substitute(op->operands[i]);
    for (const auto& block : op->blocks) ir::replace_uses(*block, replacements);
  }
  for (ir::Value*& result : results) substitute(result);
}

}  // namespace

namespace compression {

std::vector<MaskedWeight> masked_weights(const char* what, const ir::Program& program) {
  std::vector<MaskedWeight> found;
  for (const auto& parameter : program.parameters()) {
    const ir::Parameter* mask = program.find_parameter(parameter->name() + kMask);
    if (mask == nullptr || !parameter->trainable) continue;
    found.push_back({parameter.get(), mask, program.find_parameter(parameter->name() + kScore)});
  }
  if (found.empty()) {
    fail_usage(
        fmt::format("{}: the Program {} has no masks\n  hint   call add_masks() before "
                    "minimize() and before making a Trainer",
                    what, program.name));
  }
  return found;
}

}  // namespace compression

std::vector<std::string> add_masks(Program& program, const MaskOptions& options, SourceLocation) {
  ir::Program& ir = program.ir();
  check(ir, options);
  const std::vector<ir::Parameter*> weights = matching(ir, options.parameters);
  ir::Block& block = ir.main();
  std::vector<std::unique_ptr<ir::Op>> ops = std::exchange(block.ops, {});
  Replacements replacements;
  std::vector<std::string> names;
  try {
    for (const ir::Parameter* weight : weights) {
      replacements.emplace(weight->value.get(), masked(program, *weight, options));
      names.push_back(weight->name());
    }
  } catch (...) {
    block.ops = std::move(ops);  // as it was, except for parameters that no op reads
    throw;
  }
  replace(ops, block.results, replacements);
  for (auto& op : ops) block.ops.push_back(std::move(op));
  return names;
}

}  // namespace trireme
