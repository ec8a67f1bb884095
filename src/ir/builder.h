#pragma once

// Appends ops to a Program.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace trireme::ir {

// Holds where new ops go and what they are labeled with: the insertion point, the path of the
// current layer, and their location. Also gives names that are unique in the Program.
//
// A Program owns the Builder of the public functions (Program::builder()), because they find the
// Program through their Values. Compiler passes make their own Builders.
class Builder {
 public:
  // Appends to the main block, outside of any layer.
  explicit Builder(Program& program) : block_(&program.main()) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Program& program() const { return *block_->program; }
  Block& block() const { return *block_; }             // the insertion point
  const std::string& layer() const { return layer_; }  // "encoder/linear_0"; "" outside of layers
  bool has_location() const { return location_ != nullptr; }

  // Returns the location of an op that the code at `where` appends: the location of the innermost
  // LocationGuard, or else the line of `where`. If it names no layer, it gets the current layer.
  Location locate(const SourceLocation& where = {}) const;

  // As Program::append(), at the insertion point, with the location locate().
  Op* append(std::string_view op, std::vector<Value*> operands, Attributes attributes = {},
             std::vector<std::unique_ptr<Block>> blocks = {});
  // Appends an op and returns its first result, or null if it has none.
  Value* make(std::string_view op, std::vector<Value*> operands, Attributes attributes = {});
  // Appends a copy of `like` with other operands, as Program::append_like() does.
  Value* make_like(const Op& like, std::vector<Value*> operands);
  // Returns a value of `type` with all elements equal to `number`.
  Value* constant(const Type& type, double number);
  Value* reshape(Value* x, Shape shape);
  Value* add(Value* a, Value* b);

  // Returns "linear_0", "linear_1" ... within the current layer. Never returns a name twice.
  std::string unique_name(std::string_view stem);
  // Keeps unique_name() from returning layer names that occur in `path` ("encoder/linear_0").
  void reserve_names(std::string_view path);
  // Makes unique_name() count again from 0 for layers below `path`.
  void reset_names(std::string_view path);
  // Returns "words_1", "words_2" ...: a symbol that no type uses. Never returns a symbol twice.
  std::string unique_symbol(std::string_view stem);
  // Copies the layer and the names given so far.
  void copy_names(const Builder& other);

  // As Program::add_parameter(). While a ReuseGuard lives, returns the existing parameter of that
  // name and type instead; Error(usage) if there is none.
  Value* parameter(std::string name, const Type& type, const Initializer& initializer,
                   bool trainable, Location location, const ParameterSettings& settings = {});
  bool reuses_parameters() const { return reuses_parameters_; }

  // Set state without a guard, for scopes that can be moved. Return the previous state.
  std::string set_layer(std::string path) { return std::exchange(layer_, std::move(path)); }
  bool reuse_parameters(bool reuse) { return std::exchange(reuses_parameters_, reuse); }

  // While a guard lives, new ops go to `block`.
  class BlockGuard {
   public:
    BlockGuard(Builder& builder, Block& block)
        : builder_(builder), previous_(std::exchange(builder.block_, &block)) {}
    ~BlockGuard() { builder_.block_ = previous_; }
    BlockGuard(const BlockGuard&) = delete;
    BlockGuard& operator=(const BlockGuard&) = delete;

   private:
    Builder& builder_;
    Block* previous_;
  };

  // While a guard lives, `path` is the current layer.
  class LayerGuard {
   public:
    LayerGuard(Builder& builder, std::string path)
        : builder_(builder), previous_(std::exchange(builder.layer_, std::move(path))) {}
    ~LayerGuard() { builder_.layer_ = std::move(previous_); }
    LayerGuard(const LayerGuard&) = delete;
    LayerGuard& operator=(const LayerGuard&) = delete;

   private:
    Builder& builder_;
    std::string previous_;
  };

  // While a guard lives, new ops get `location`, which must outlive the guard and may change.
  class LocationGuard {
   public:
    LocationGuard(Builder& builder, const Location& location)
        : builder_(builder), previous_(std::exchange(builder.location_, &location)) {}
    ~LocationGuard() { builder_.location_ = previous_; }
    LocationGuard(const LocationGuard&) = delete;
    LocationGuard& operator=(const LocationGuard&) = delete;

   private:
    Builder& builder_;
    const Location* previous_;
  };

  // While a guard lives, parameter() returns existing parameters.
  class ReuseGuard {
   public:
    explicit ReuseGuard(Builder& builder)
        : builder_(builder), previous_(std::exchange(builder.reuses_parameters_, true)) {}
    ~ReuseGuard() { builder_.reuses_parameters_ = previous_; }
    ReuseGuard(const ReuseGuard&) = delete;
    ReuseGuard& operator=(const ReuseGuard&) = delete;

   private:
    Builder& builder_;
    bool previous_;
  };

 private:
  Block* block_;
  std::string layer_;
  const Location* location_ = nullptr;
  bool reuses_parameters_ = false;
  std::map<std::string, int, std::less<>> counters_;  // of names and of symbols
};

}  // namespace trireme::ir
