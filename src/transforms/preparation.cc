#include "transforms/preparation.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "transforms/prune.h"

namespace trireme::transforms {
namespace {

using ValueSet = std::unordered_set<const ir::Value*>;

bool is_larger_than_operands(const ir::Op& op) {
  Dim read = 0;
  for (const ir::Value* operand : op.operands) read = read + product(operand->type.shape);
  const Dim written = product(op.result()->type.shape);
  return !written.is_constant() || !read.is_constant() || written.constant() > read.constant();
}

// Whether the result is the same in every run with the same operands, and not larger than they are.
bool is_run_invariant(const ir::Op& op) {
  using ir::Trait;
  if (op.has(Trait::random) || op.has(Trait::side_effect) || !op.blocks.empty()) return false;
  if (op.results.size() != 1 || !is_constant(op.result()->type.shape)) return false;
  return !op.has(Trait::view) || !is_larger_than_operands(op);
}

class Finder {
 public:
  explicit Finder(const ir::Program& program) : program_(program) {
    for (const auto& op : program.main().ops) {
      if (!is_run_invariant(*op)) continue;
      const bool known = std::all_of(op->operands.begin(), op->operands.end(),
                                     [&](const ir::Value* v) { return is_known(v); });
      if (!known) continue;
      known_.insert(op->result());
      const bool reads = std::any_of(op->operands.begin(), op->operands.end(),
                                     [&](const ir::Value* v) { return !is_number(v); });
      if (!reads) numbers_.insert(op->result());
    }
  }

  // Returns the last known values: those read by ops whose results are not known.
  std::vector<const ir::Value*> wanted() const {
    const ValueSet read = read_later();
    std::vector<const ir::Value*> values;
    for (const auto& op : program_.main().ops) {
      if (op->results.empty() || !read.contains(op->result())) continue;
      const ir::Value* value = op->result();
      if (!known_.contains(value) || numbers_.contains(value) || costs_nothing(*op)) continue;
      values.push_back(value);
    }
    return values;
  }

  // Returns the parameters read, also through a reshape, by ops whose results are not known.
  std::vector<const ir::Value*> parameters() const {
    ValueSet read = read_later();
    for (const auto& op : program_.main().ops) {
      if (op->results.size() == 1 && read.contains(op->result()) && costs_nothing(*op)) {
        read.insert(op->operands[0]);
      }
    }
    std::vector<const ir::Value*> values;
    for (const auto& parameter : program_.parameters()) {
      if (read.contains(parameter->value.get())) values.push_back(parameter->value.get());
    }
    return values;
  }

 private:
  ValueSet read_later() const {
    ValueSet read;
    for (const auto& op : program_.main().ops) {
      if (op->results.size() == 1 && known_.contains(op->result())) continue;
      for (const ir::Value* operand : op->operands) read.insert(operand);
    }
    return read;
  }
  bool is_known(const ir::Value* value) const {
    return value->kind == ir::ValueKind::parameter || known_.contains(value);
  }
  bool is_number(const ir::Value* value) const { return numbers_.contains(value); }
  // A reshape of a parameter shares its memory.
  static bool costs_nothing(const ir::Op& op) {
    return op.has(ir::Trait::reshape) && op.operands[0]->producer == nullptr;
  }

  const ir::Program& program_;
  ValueSet known_;    // depend only on parameters, or on nothing
  ValueSet numbers_;  // depend on nothing
};

std::string free_name(const ir::Program& program) {
  for (int i = 0;; ++i) {
    std::string name = "prepared_" + std::to_string(i);
    if (program.find_parameter(name) == nullptr) return name;
  }
}

}  // namespace

Preparation split_preparation(ir::Program& program,
                              const std::function<bool(const ir::Value*)>& copied) {
  Preparation preparation;
  const Finder finder(program);
  std::vector<const ir::Value*> wanted = finder.wanted();
  if (copied) {
    for (const ir::Value* parameter : finder.parameters()) {
      if (copied(parameter)) wanted.push_back(parameter);
    }
  }
  if (wanted.empty()) return preparation;

  std::unordered_map<const ir::Value*, std::size_t> position;  // of the producing op in the block
  const auto& ops = program.main().ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!ops[i]->results.empty()) position[ops[i]->result()] = i;
  }
  preparation.program = program.clone();
  preparation.program->name += "_preparation";
  ir::Block& block = preparation.program->main();
  block.results.clear();
  std::unordered_map<const ir::Value*, ir::Value*> prepared;
  for (const ir::Value* value : wanted) {
    const bool computed = value->producer != nullptr;
    block.results.push_back(computed
                                ? block.ops[position.at(value)]->result()
                                : preparation.program->find_parameter(value->name)->value.get());
    std::string name = free_name(program);
    prepared[value] = program.add_parameter(name, value->type, Initializer{}, false,
                                            computed ? value->producer->location : ir::Location{});
    preparation.names.push_back(std::move(name));
  }
  prune(*preparation.program,
        {.keep_side_effects = false, .drop_inputs = true, .drop_parameters = true});

  for (const auto& op : ops) {
    for (ir::Value*& operand : op->operands) {
      const auto found = prepared.find(operand);
      if (found != prepared.end()) operand = found->second;
    }
  }
  prune(program, {.keep_side_effects = false, .drop_inputs = true, .drop_parameters = true});
  return preparation;
}

}  // namespace trireme::transforms
