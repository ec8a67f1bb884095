#pragma once

// Working with nested blocks: copies of ops under other symbols, and blocks that read nothing from
// outside.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace trireme::ir {

// What stands for symbols.
using Symbols = std::map<std::string, Dim, std::less<>>;
Dim substituted(const Dim& dim, const Symbols& symbols);
Shape substituted(const Shape& shape, const Symbols& symbols);
Type substituted(const Type& type, const Symbols& symbols);
Attributes substituted(const Attributes& attributes, const Symbols& symbols);

// Copies ops to the end of `to`, their operands replaced by what stands for them. Values that nothing
// stands for are read as they are. Symbols are replaced in types and attributes, nested blocks too.
class Copier {
 public:
  explicit Copier(Block& to, Symbols symbols = {}) : to_(&to), symbols_(std::move(symbols)) {}

  void set(const Value* value, Value* copy) { copies_[value] = copy; }
  bool has(const Value* value) const { return copies_.contains(value); }
  Value* of(Value* value) const;
  Op* copy(const Op& op);

 private:
  std::unique_ptr<Block> copied(const Block& block, Block& around);

  Block* to_;
  Symbols symbols_;
  std::unordered_map<const Value*, Value*> copies_;
};

// New ops go to `block` while this lives.
class InsertionGuard {
 public:
  InsertionGuard(Program& program, Block& block)
      : program_(program), previous_(std::exchange(program.insertion_block, &block)) {}
  ~InsertionGuard() { program_.insertion_block = previous_; }
  InsertionGuard(const InsertionGuard&) = delete;
  InsertionGuard& operator=(const InsertionGuard&) = delete;

 private:
  Program& program_;
  Block* previous_;
};

// Values from outside that the block reads become arguments of it; returns them, in the order of the
// new arguments. `shared`, of another block of the same op, come first whether they are read or not.
std::vector<Value*> close(Block& block, const std::vector<Value*>& shared = {});

// Drops the ops of the block that its results do not need.
void prune(Block& block);

// Replaces each use of a value, in the block's ops and results, by what stands for it.
void replace_uses(Block& block, const std::unordered_map<const Value*, Value*>& replacements);

// A closed block as a Program: its arguments are the inputs, of the same names. `block`'s own values
// are matched with the Program's by position.
std::unique_ptr<Program> as_program(const Block& block);
// The inverse: a block, to stand in `around`, of a Program that has no parameters.
std::unique_ptr<Block> as_block(const Program& program, Block& around);

}  // namespace trireme::ir
