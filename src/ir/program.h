#pragma once

// The Program as data. Ownership: a Program owns its parameters and main block, a Block its
// arguments and ops, an Op its results and nested blocks. Everything else points.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op_def.h"
#include "ir/type.h"
#include "trireme/program.h"

namespace trireme::ir {

struct Op;
struct Block;
struct Parameter;

enum class ValueKind : std::uint8_t { argument, result, parameter };

// SSA: a value is defined once. A parameter's Value stands for what the parameter holds when the
// reading op runs; `assign` ops change that.
struct Value {
  ValueKind kind = ValueKind::result;
  Type type;
  std::string name;        // arguments and parameters; empty for results
  Op* producer = nullptr;  // results
  int index = 0;           // which result, argument or parameter
  Block* block = nullptr;  // arguments and results: where it is defined
  Program* program = nullptr;
};

// Where an op comes from, for error messages, profiles and dumps.
struct Location {
  std::string file;  // base name of the user's file
  int line = 0;
  std::string layer;        // "encoder/linear_0"
  std::string str() const;  // "digits.cc:10 conv2d_0"
};

struct Op {
  const OpDef* def = nullptr;
  std::vector<Value*> operands;
  std::vector<std::unique_ptr<Value>> results;
  Attributes attributes;  // sorted by name, complete: defaults are filled in
  Location location;
  std::vector<std::unique_ptr<Block>> blocks;
  Block* parent = nullptr;

  const std::string& name() const { return def->name; }
  bool has(Trait trait) const { return def->has(trait); }
  Value* result(int i = 0) const { return results[static_cast<std::size_t>(i)].get(); }
};

struct Block {
  std::vector<std::unique_ptr<Value>> arguments;
  std::vector<std::unique_ptr<Op>> ops;
  std::vector<Value*> results;
  Op* owner = nullptr;      // the op that holds this block; null for the main block
  Block* around = nullptr;  // while it is being built and has no owner: the block it stands in
  Program* program = nullptr;
};

struct Parameter {
  std::unique_ptr<Value> value;
  Initializer initializer;
  bool trainable = true;
  Location location;
  ParameterSettings settings;
  const std::string& name() const { return value->name; }
};

class Program {
 public:
  Program(std::string name, const OpSet& op_set);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  std::unique_ptr<Program> clone() const;

  std::string name;
  const OpSet& op_set() const { return *op_set_; }
  Block& main() { return main_; }
  const Block& main() const { return main_; }
  const std::vector<std::unique_ptr<Parameter>>& parameters() const { return parameters_; }
  Parameter* find_parameter(std::string_view name) const;  // null if there is none
  Parameter& parameter_of(const Value* value) const;       // precondition: kind is parameter

  // The Program without the parameters of which `unwanted` is true; no op may use them any more.
  void remove_parameters(const std::function<bool(const Parameter&)>& unwanted);

  // Errors: usage, for a name that is taken or no name, a type with negative sizes, or settings
  // that make no sense.
  Value* add_input(std::string name, Type type);
  Value* add_parameter(std::string name, Type type, const Initializer& initializer, bool trainable,
                       Location location, const ParameterSettings& settings = {});

  // Appends an op to `block` after checking operand types with the op's type rule; unknown or
  // missing attributes and violated rules are Error(usage) in the form of api.md's "A mistake".
  // `blocks`, made by make_block(), become the op's own.
  Op* append(Block& block, std::string_view op, std::vector<Value*> operands, Attributes attributes,
             const Location& location, std::vector<std::unique_ptr<Block>> blocks = {});
  // The same where the types are already known to be right, as when cloning: copies `like`'s
  // definition, attributes, location and result types, but not its nested blocks.
  Op* append_like(Block& block, const Op& like, std::vector<Value*> operands);

  // A nested block that no op holds yet. What is defined in `around`, and around it, can be read in it.
  std::unique_ptr<Block> make_block(Block& around);
  // A further nested block of `op`, and an argument of it. Names are unique in the whole Program.
  Block& add_block(Op& op);
  Value* add_argument(Block& block, std::string name, Type type);
  // A further result of an op with blocks, one of which returns one more value.
  Value* add_result(Op& op, Type type);
  std::string unique_argument(
      std::string_view stem) const;  // `stem`, or "stem_1" ... if it is taken
  // "words_1", "words_2" ...: a symbol that stands in no type, and is not given again.
  std::string unique_symbol(std::string_view stem);

  // Where new ops go and what layer they belong to.
  Block* insertion_block = nullptr;  // the main block unless a nested one is being built
  std::string layer;                 // current layer path
  // When set, new ops get this location instead of the caller's (gradients, optimizer updates, jobs).
  // If it names no layer, they belong to the current one all the same.
  const Location* location_override = nullptr;
  Location locate(const SourceLocation& where) const;

  // "linear_0", "linear_1" ... within the current layer path, never one that was given before.
  std::string unique_name(std::string_view stem);
  // Layer names that occur in `path` ("encoder/linear_0") are not given again by unique_name().
  void reserve_names(std::string_view path);

  // While it is true, add_parameter() gives a parameter that there is, of the same type, and makes none.
  bool sharing = false;
  // Whether a layer at `path`, or below it, has parameters.
  bool has_parameters(std::string_view path) const;
  // Layers below `path` are called by unique_name() as they were from the start.
  void restart_names(std::string_view path);

 private:
  void check_declaration(const std::string& name, const char* what, const Type& type) const;
  Value* shared_parameter(const std::string& name, const Type& type) const;
  Op* place(Block& block, const OpDef& def, std::vector<Value*> operands, Attributes attributes,
            Location location, std::vector<Type> types);

  const OpSet* op_set_;
  std::vector<std::unique_ptr<Parameter>> parameters_;
  std::map<std::string, Parameter*, std::less<>> by_name_;
  std::set<std::string, std::less<>> argument_names_;  // of all blocks, and of arguments removed
  Block main_;
  std::map<std::string, int, std::less<>> counters_;
};

// Attribute access. Missing or of another type: Error(internal), since append() checks them.
template <class T>
const T& get(const Attributes& attributes, std::string_view name);
bool has_attribute(const Attributes& attributes, std::string_view name);
void set(Attributes& attributes, std::string name, Attribute value);  // keeps the order
bool same(const Attribute& a, const Attribute& b);  // kind and value; NaN is the same as NaN
bool same(const Attributes& a, const Attributes& b);

// `given` sorted, checked against the signature of `def`, with defaults filled in. A number is taken
// for a float, integers for a shape. Throws TypeError.
Attributes complete_attributes(const OpDef& def, const Attributes& given);

// Settings as attributes, without those at their defaults, and back. Errors: usage, for unknown names
// and numbers that make no sense.
Attributes attributes_of(const ParameterSettings& settings);
ParameterSettings settings_from(const Attributes& attributes);
void check(const ParameterSettings& settings);
// Whether `pattern` is `text`, * standing for any characters.
bool matches(std::string_view pattern, std::string_view text);

// Text; the grammar is in README.md. parse() throws Error(data) with line and column; it accepts
// what print() writes, plus free white space, comments that are no locations, and results numbered
// in any way.
std::string print(const Program& program);
std::unique_ptr<Program> parse(std::string_view text, const OpSet& op_set);
std::string print_attribute(const Attribute& attribute);

// The splits of `rows` that an op at the end of `block` can read; null if there are none.
Value* find_splits(const Block& block, const Dim& rows);

// Whether an op at the end of `block` may read `value`: it is a parameter, or defined in `block` or
// in a block around it.
bool is_visible(const Value& value, const Block& block);

// What the type rule of `def` says, checked against its signature; throws TypeError.
std::vector<Type> result_types(const OpDef& def, const std::vector<Value*>& operands,
                               const Attributes& attributes,
                               const std::vector<std::unique_ptr<Block>>& blocks);

// All a well-formed Program promises: defined before used, types as the rules say, names unique,
// attributes complete. Throws Error(internal) naming the op.
void verify(const Program& program);

// How values are called in text: "%image", "%linear_0.weight", "%12" by position in the Program
// (found by walking it: not for use in loops).
std::string name_in_text(const Value* value);

// Whether `text` can name a value, a parameter or a layer: letters, digits and "_./-", a letter or
// '_' first, at most 512 characters.
bool is_name(std::string_view text);

}  // namespace trireme::ir
