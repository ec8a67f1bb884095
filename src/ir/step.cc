// Names these ops: add, concat, matmul, slice

#include "ir/step.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/blocks.h"

namespace trireme::ir {
namespace {

using StepValues = std::vector<Value*>;

class Splitter {
 public:
  Splitter(Block& step, const std::vector<const Value*>& states)
      : step_(step), program_(*step.program), depends_(states.begin(), states.end()) {}

  void run() {
    std::vector<std::unique_ptr<Op>> old = std::exchange(step_.ops, {});
    std::unordered_map<const Value*, Value*> replaced;
    std::vector<std::unique_ptr<Op>> dropped;
    for (std::unique_ptr<Op>& op : old) {
      for (Value*& operand : op->operands) {
        const auto found = replaced.find(operand);
        if (found != replaced.end()) operand = found->second;
      }
      Value* sum = split(*op);
      if (sum == nullptr) {
        propagate_dependence(*op);
        step_.ops.push_back(std::move(op));
      } else {
        depends_.insert(sum);
        replaced[op->result()] = sum;
        dropped.push_back(std::move(op));
      }
    }
    if (dropped.empty()) return;
    replace_uses(step_, replaced);
    prune(step_);
  }

 private:
  void propagate_dependence(const Op& op) {
    for (const Value* operand : op.operands) {
      if (!depends_.contains(operand)) continue;
      for (const auto& result : op.results) depends_.insert(result.get());
      return;
    }
  }

  Value* append(const char* name, StepValues operands, Attributes attributes, const Op& like) {
    return program_.append(step_, name, std::move(operands), std::move(attributes), like.location)
        ->result();
  }

  // Returns the sum of products that replaces `op`, or null if `op` is not split.
  Value* split(const Op& op) {
    if (op.name() != "matmul" || op.operands[1]->type.rank() != 2) return nullptr;
    if (get_attribute<bool>(op.attributes, "transpose_a") ||
        get_attribute<bool>(op.attributes, "transpose_b")) {
      return nullptr;
    }
    const Op* joined = op.operands[0]->producer;
    if (joined == nullptr || joined->name() != "concat") return nullptr;
    const auto axis = get_attribute<std::int64_t>(joined->attributes, "axis");
    const int last = op.operands[0]->type.rank() - 1;
    if (axis != -1 && axis != last) return nullptr;
    Value* sum = nullptr;
    Dim from = 0;
    const StepValues parts = joined->operands;
    for (std::size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
      const bool depends = depends_.contains(parts[begin]);
      Dim to = from;
      for (end = begin; end < parts.size() && depends_.contains(parts[end]) == depends; ++end) {
        to = to + parts[end]->type.shape.back();
      }
      if (begin == 0 && end == parts.size()) return nullptr;
      const StepValues group(parts.begin() + static_cast<std::ptrdiff_t>(begin),
                             parts.begin() + static_cast<std::ptrdiff_t>(end));
      Value* left = group.size() == 1 ? group[0]
                                      : append("concat", group, {{"axis", std::int64_t{last}}}, op);
      Value* weight = append(
          "slice", {op.operands[1]},
          {{"limits", Shape{to, op.operands[1]->type.shape[1]}}, {"starts", Shape{from, 0}}}, op);
      Value* product = append("matmul", {left, weight}, {}, op);
      sum = sum == nullptr ? product : append("add", {sum, product}, {}, op);
      from = to;
    }
    return sum;
  }

  Block& step_;
  Program& program_;
  std::unordered_set<const Value*> depends_;
};

// Constants and broadcasts cost nothing in the step, because they are fused there.
bool is_free(const Op& op) { return op.has(Trait::generator) || op.has(Trait::broadcast); }

// `symbols` are those of dimensions that exist only in the block.
void move_out(Block& step, const std::unordered_set<std::string>& symbols) {
  std::unordered_set<const Value*> inside;
  for (const auto& argument : step.arguments) inside.insert(argument.get());
  const auto stays = [&](const Op& op) {
    if (is_free(op) || op.has(Trait::random) || op.has(Trait::side_effect) || !op.blocks.empty()) {
      return true;
    }
    for (const Value* operand : op.operands) {
      if (inside.contains(operand)) return true;
    }
    for (const auto& result : op.results) {
      for (const Dim& dim : result->type.shape) {
        for (const std::string& symbol : dim.symbols()) {
          if (symbols.contains(symbol)) return true;
        }
      }
    }
    return false;
  };
  std::vector<std::unique_ptr<Op>> kept;
  for (auto& op : step.ops) {
    if (stays(*op)) {
      for (const auto& result : op->results) inside.insert(result.get());
      kept.push_back(std::move(op));
      continue;
    }
    op->parent = step.around;
    for (const auto& result : op->results) result->block = step.around;
    step.around->ops.push_back(std::move(op));
  }
  step.ops = std::move(kept);
}

}  // namespace

void normalize_step(Block& step, const std::vector<const Value*>& states) {
  Splitter(step, states).run();
  std::unordered_set<std::string> symbols;
  for (const auto& argument : step.arguments) {
    add_symbols(argument->type.shape, symbols);
    symbols.insert(argument->type.splits_of);
  }
  move_out(step, symbols);
}

void move_out(Block& block) { move_out(block, {}); }

}  // namespace trireme::ir
