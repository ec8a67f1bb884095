#include "ir/blocks.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"

namespace trireme::ir {

Dim substituted(const Dim& dim, const Symbols& symbols) {
  if (symbols.empty() || dim.is_constant()) return dim;
  Dim result = 0;
  for (const auto& [monomial, coefficient] : dim.terms()) {
    Dim term = coefficient;
    for (const std::string& symbol : monomial) {
      const auto found = symbols.find(symbol);
      term = term * (found == symbols.end() ? Dim(std::string_view(symbol)) : found->second);
    }
    result = result + term;
  }
  return result;
}

Shape substituted(const Shape& shape, const Symbols& symbols) {
  Shape result;
  for (const Dim& dim : shape) result.push_back(substituted(dim, symbols));
  return result;
}

Type substituted(const Type& type, const Symbols& symbols) {
  Type result{type.dtype, substituted(type.shape, symbols), type.splits_of};
  if (!type.splits_of.empty()) {
    result.splits_of = substituted(*Dim::parse(type.splits_of), symbols).str();
  }
  return result;
}

Attributes substituted(const Attributes& attributes, const Symbols& symbols) {
  Attributes result = attributes;
  for (NamedAttribute& attribute : result) {
    if (auto* shape = std::get_if<Shape>(&attribute.value)) *shape = substituted(*shape, symbols);
  }
  return result;
}

void add_symbols(const Shape& shape, std::unordered_set<std::string>& symbols) {
  for (const Dim& dim : shape) {
    for (std::string& symbol : dim.symbols()) symbols.insert(std::move(symbol));
  }
}

void add_symbols(const Op& op, std::unordered_set<std::string>& symbols) {
  for (const auto& result : op.results) add_symbols(result->type.shape, symbols);
  for (const NamedAttribute& attribute : op.attributes) {
    if (const auto* shape = std::get_if<Shape>(&attribute.value)) add_symbols(*shape, symbols);
  }
  for (const auto& block : op.blocks) {
    for (const auto& inner : block->ops) add_symbols(*inner, symbols);
  }
}

Value* Copier::of(Value* value) const {
  const auto found = copies_.find(value);
  return found == copies_.end() ? value : found->second;
}

Op* Copier::copy(const Op& op) {
  Program& program = *to_->program;
  std::vector<Value*> operands;
  for (Value* operand : op.operands) operands.push_back(of(operand));
  std::vector<std::unique_ptr<Block>> blocks;
  for (const auto& block : op.blocks) blocks.push_back(copied(*block, *to_));
  Op* copy = program.append(*to_, op.name(), std::move(operands),
                            substituted(op.attributes, symbols_), op.location, std::move(blocks));
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    copies_[op.results[i].get()] = copy->results[i].get();
  }
  return copy;
}

std::unique_ptr<Block> Copier::copied(const Block& block, Block& around) {
  Program& program = *to_->program;
  auto copy = program.make_block(around);
  Copier inside(*copy, symbols_);
  for (const auto& argument : block.arguments) {
    inside.set(argument.get(), program.add_argument(*copy, program.unique_argument(argument->name),
                                                    substituted(argument->type, symbols_)));
  }
  for (const auto& op : block.ops) inside.copy(*op);
  for (Value* result : block.results) copy->results.push_back(inside.of(result));
  return copy;
}

namespace {

std::string base_name(const Value& value) {
  if (value.kind != ValueKind::result) return value.name;
  const std::string& layer = value.producer->location.layer;
  return (layer.empty() ? "" : layer + ".") + value.producer->name();
}

}  // namespace

std::vector<Value*> close(Block& block, const std::vector<Value*>& shared) {
  Program& program = *block.program;
  std::unordered_set<const Value*> own;
  for (const auto& argument : block.arguments) own.insert(argument.get());
  for (const auto& op : block.ops) {
    for (const auto& result : op->results) own.insert(result.get());
  }
  std::vector<Value*> outside;
  std::unordered_map<const Value*, Value*> inside;
  const auto capture = [&](Value* value) {
    if (own.contains(value) || inside.contains(value)) return;
    outside.push_back(value);
    inside[value] =
        program.add_argument(block, program.unique_argument(base_name(*value)), value->type);
  };
  for (Value* value : shared) capture(value);
  for (const auto& op : block.ops) {
    for (Value* operand : op->operands) capture(operand);
  }
  for (Value* result : block.results) capture(result);
  replace_uses(block, inside);
  return outside;
}

void prune(Block& block) {
  std::unordered_set<const Value*> needed(block.results.begin(), block.results.end());
  std::unordered_set<std::string> symbols;
  std::vector<std::unique_ptr<Op>> kept;
  for (const Value* result : block.results) add_symbols(result->type.shape, symbols);
  for (auto op = block.ops.rbegin(); op != block.ops.rend(); ++op) {
    const bool defines_symbol =
        (*op)->has(Trait::makes_splits) && symbols.contains((*op)->result()->type.splits_of);
    const bool used =
        std::any_of((*op)->results.begin(), (*op)->results.end(),
                    [&](const auto& result) { return needed.contains(result.get()); });
    if (!used && !defines_symbol && !(*op)->has(Trait::side_effect)) continue;
    needed.insert((*op)->operands.begin(), (*op)->operands.end());
    add_symbols(**op, symbols);
    kept.push_back(std::move(*op));
  }
  std::reverse(kept.begin(), kept.end());
  block.ops = std::move(kept);
}

void replace_uses(Block& block, const std::unordered_map<const Value*, Value*>& replacements) {
  const auto replace = [&](Value*& value) {
    const auto found = replacements.find(value);
    if (found != replacements.end()) value = found->second;
  };
  for (const auto& op : block.ops) {
    for (Value*& operand : op->operands) replace(operand);
  }
  for (Value*& result : block.results) replace(result);
}

std::unique_ptr<Program> as_program(const Block& block) {
  auto program = std::make_unique<Program>("step", block.program->op_set());
  Copier copier(program->main());
  for (const auto& argument : block.arguments) {
    copier.set(argument.get(), program->add_input(argument->name, argument->type));
  }
  for (const auto& op : block.ops) copier.copy(*op);
  for (Value* result : block.results) program->main().results.push_back(copier.of(result));
  return program;
}

std::unique_ptr<Block> as_block(const Program& program, Block& around) {
  Program& owner = *around.program;
  auto block = owner.make_block(around);
  Copier copier(*block);
  for (const auto& argument : program.main().arguments) {
    copier.set(argument.get(),
               owner.add_argument(*block, owner.unique_argument(argument->name), argument->type));
  }
  for (const auto& op : program.main().ops) copier.copy(*op);
  for (Value* result : program.main().results) block->results.push_back(copier.of(result));
  return block;
}

}  // namespace trireme::ir
