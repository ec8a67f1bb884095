#include "compiler/storage.h"

#include <algorithm>

namespace trireme::compiler {
namespace {

using ir::Op;
using ir::Trait;

constexpr std::int64_t kMinPerExample = 32;
constexpr std::int64_t kMinFixed = 1024;
// The maximum number of groups between producer and library user for which a value stays in f32. A
// value that waits longer, from the forward pass to the gradients, is widened when the library
// reads it.
constexpr std::size_t kMaxDistance = 6;

std::int64_t constant_part(const Shape& shape) {
  Dim elements = 1;
  for (const Dim& dim : shape) {
    if (dim.is_constant()) elements = elements * dim;
  }
  return elements.constant();
}

// Whether the op returns counts, or numbers computed from integers element by element. 16 bits
// cannot hold them exactly.
bool returns_counts(const Op& op) {
  if (op.has(Trait::counts)) return true;
  return op.has(Trait::elementwise) &&
         std::any_of(op.operands.begin(), op.operands.end(), [](const ir::Value* operand) {
           return operand->type.dtype == DType::i32 || operand->type.dtype == DType::i64;
         });
}

// Whether the value is an input, possibly reordered or joined with others. Its numbers may be of
// any kind.
bool is_view_of_input(const ir::Value* value) {
  if (value->producer == nullptr) return value->kind == ir::ValueKind::argument;
  const auto& operands = value->producer->operands;
  return value->producer->has(Trait::view) &&
         std::any_of(operands.begin(), operands.end(), [&](const ir::Value* operand) {
           return operand->type.dtype == value->type.dtype && is_view_of_input(operand);
         });
}

bool is_weight(const ir::Value* value) {
  const ir::Type& type = value->type;
  return value->kind == ir::ValueKind::parameter && type.dtype == DType::f32 && type.rank() >= 2 &&
         is_constant(type.shape) && constant_part(type.shape) >= kMinFixed;
}

}  // namespace

bool is_alias(const ir::Program& program, const Group& group) {
  if (group.ops.size() != 1 || !group.ops.front()->has(Trait::reshape)) return false;
  const auto& results = program.main().results;
  return std::find(results.begin(), results.end(), group.ops.front()->result()) == results.end();
}

NarrowStorage::NarrowStorage(const ir::Program& program, const std::vector<Group>& groups,
                             StorageOptions options)
    : options_(std::move(options)) {
  if (options_.type == DType::f32) return;
  for (const Group& group : groups) {
    if (!is_alias(program, group)) continue;
    const Op& op = *group.ops.front();
    alias_of_[op.result()] = op.operands[0];
  }
  for (const ir::Value* result : program.main().results) wide_.insert(result);
  std::unordered_map<const ir::Value*, std::size_t> producer_group;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    for (const Op* op : group.ops) {
      const bool exact = op->has(Trait::reduction) || returns_counts(*op);
      for (const auto& result : op->results) {
        producer_group[result.get()] = g;
        if (group.library || exact) wide_.insert(root(result.get()));
      }
      if (!group.library) continue;
      for (const ir::Value* operand : op->operands) {
        const auto made = producer_group.find(root(operand));
        if (made == producer_group.end() || g - made->second <= kMaxDistance)
          wide_.insert(root(operand));
      }
    }
  }
}

const ir::Value* NarrowStorage::root(const ir::Value* value) const {
  for (auto found = alias_of_.find(value); found != alias_of_.end();
       found = alias_of_.find(value)) {
    value = found->second;
  }
  return value;
}

bool NarrowStorage::is_large(const ir::Value* value) const {
  const Shape& shape = value->type.shape;
  if (!is_constant(shape)) return constant_part(shape) >= kMinPerExample;
  return options_.fixed_shapes && constant_part(shape) >= kMinFixed;
}

DType NarrowStorage::type(const ir::Value* value) const {
  const DType own = value->type.dtype;
  if (options_.type == DType::f32 || own != DType::f32) return own;
  const ir::Value* stored = root(value);
  if (wide_.contains(stored)) return own;
  if (stored->kind == ir::ValueKind::parameter) {
    return options_.prepared.contains(stored->name) && is_weight(stored) ? options_.type : own;
  }
  return !is_view_of_input(stored) && is_large(stored) ? options_.type : own;
}

std::function<bool(const ir::Value*)> narrow_weights(const ir::Program& program) {
  std::unordered_set<const ir::Value*> of_libraries;
  for (const auto& op : program.main().ops) {
    if (!op->has(Trait::library)) continue;
    for (const ir::Value* operand : op->operands) {
      while (operand->producer != nullptr && operand->producer->has(Trait::reshape)) {
        operand = operand->producer->operands[0];
      }
      of_libraries.insert(operand);
    }
  }
  return [of_libraries](const ir::Value* value) {
    return is_weight(value) && !of_libraries.contains(value);
  };
}

}  // namespace trireme::compiler
