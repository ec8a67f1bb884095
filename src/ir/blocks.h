#pragma once

// Copying nested blocks, with symbols replaced, and turning captured values into arguments.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace trireme::ir {

// The dimension that replaces each symbol.
using Symbols = std::map<std::string, Dim, std::less<>>;
Dim substituted(const Dim& dim, const Symbols& symbols);
Shape substituted(const Shape& shape, const Symbols& symbols);
Type substituted(const Type& type, const Symbols& symbols);
Attributes substituted(const Attributes& attributes, const Symbols& symbols);

// Adds the symbols whose sizes the shape or the op needs to `symbols`: those in the shapes of
// results, in attributes and in nested blocks.
void add_symbols(const Shape& shape, std::unordered_set<std::string>& symbols);
void add_symbols(const Op& op, std::unordered_set<std::string>& symbols);

// Copies ops to the end of `to`. Operands are replaced by their copies; values without a copy are
// used as they are. Symbols are replaced in types and attributes, and in nested blocks.
class Copier {
 public:
  explicit Copier(Block& to, Symbols symbols = {}) : to_(&to), symbols_(std::move(symbols)) {}

  void set(const Value* value, Value* copy) { copies_[value] = copy; }
  bool has(const Value* value) const { return copies_.contains(value); }
  // Returns the copy of `value`, or `value` itself if it has none.
  Value* of(Value* value) const;
  Op* copy(const Op& op);

 private:
  std::unique_ptr<Block> copied(const Block& block, Block& around);

  Block* to_;
  Symbols symbols_;
  std::unordered_map<const Value*, Value*> copies_;
};

// Turns the values that the block captures from outside into arguments of the block. Returns these
// values in the order of the new arguments. The values in `shared`, which another block of the same
// op needs, come first whether this block reads them or not.
std::vector<Value*> close(Block& block, const std::vector<Value*>& shared = {});

// Drops the ops that the results of the block do not need.
void prune(Block& block);

// Replaces each use of a value in the block's ops and results.
void replace_uses(Block& block, const std::unordered_map<const Value*, Value*>& replacements);

// Returns a block that captures nothing as a Program. The block's arguments become inputs of the
// same names. Match values of `block` with values of the Program by position.
std::unique_ptr<Program> as_program(const Block& block);
// The inverse: returns a Program without parameters as a block to be placed in `around`.
std::unique_ptr<Block> as_block(const Program& program, Block& around);

}  // namespace trireme::ir
