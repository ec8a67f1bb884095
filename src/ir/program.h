#pragma once

// The Program as data. Ownership: a Program owns its parameters and its main block. A Block owns
// its arguments and ops. An Op owns its results and nested blocks. All other pointers do not own.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/attributes.h"
#include "ir/op_def.h"
#include "ir/torch.h"
#include "ir/type.h"
#include "trireme/program.h"

namespace trireme::ir {

struct Op;
struct Block;
struct Parameter;
class Builder;

enum class ValueKind : std::uint8_t { argument, result, parameter };

// SSA: a value is defined once. The Value of a parameter is what the parameter holds when the op
// that reads it runs; `assign` ops change that.
struct Value {
  ValueKind kind = ValueKind::result;
  Type type;
  std::string name;        // arguments and parameters; empty for results
  Op* producer = nullptr;  // results
  int index = 0;           // position among the results, arguments or parameters
  Block* block = nullptr;  // arguments and results: the block that defines it
  Program* program = nullptr;
};

// The origin of an op, for error messages, profiles and dumps.
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
  Attributes attributes;  // sorted by name, with defaults filled in
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
  Block* around = nullptr;  // the enclosing block, until the block has an owner
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

// The layer of the ops that update parameters.
inline constexpr const char* kOptimizerLayer = "optimizer";

// A parameter that an update changes, and its gradient: dense, or row-sparse with `rows`.
struct UpdatedParameter {
  Value* parameter = nullptr;
  Value* gradient = nullptr;
  Value* rows = nullptr;
  Value* clipped = nullptr;  // what the optimizer clips: the mean of accumulated gradients
};

// One set of updates: a call of minimize() or apply_updates().
struct UpdateSet {
  std::string name;       // UpdateOptions::name
  std::string place;      // "at FILE:LINE"
  Value* rate = nullptr;  // the learning rate of the next update, f64 []; null: constant_rate
  double constant_rate = 0;
  bool divides_by_rate = false;  // so the rate must be above 0
  bool adjustable = false;       // its rate can be set
  std::vector<UpdatedParameter> parameters;
};

class Program : public std::enable_shared_from_this<Program> {
 public:
  Program(std::string name, const OpSet& op_set);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  std::unique_ptr<Program> clone() const;

  std::string name;
  // The sets of updates of optimizers, in the order of their calls. Not part of the text: a parsed
  // Program has none. Its Values are of this Program, and valid until a transform rewrites it.
  std::vector<UpdateSet> updates;
  // Why the Program may have no parameters, with a hint; empty: it may.
  std::string no_parameters;
  TorchNames torch;  // not part of the text, either
  const OpSet& op_set() const { return *op_set_; }
  Block& main() { return main_; }
  const Block& main() const { return main_; }
  const std::vector<std::unique_ptr<Parameter>>& parameters() const { return parameters_; }
  Parameter* find_parameter(std::string_view name) const;  // null if there is none
  Parameter& parameter_of(const Value* value) const;       // precondition: kind is parameter

  // Removes the parameters for which `unwanted` is true. No op may use them any more.
  void remove_parameters(const std::function<bool(const Parameter&)>& unwanted);

  // Error(usage) if the name is taken or invalid, a size of the type is negative, or a setting is
  // out of range.
  Value* add_input(std::string name, Type type);
  Value* add_parameter(std::string name, Type type, const Initializer& initializer, bool trainable,
                       Location location, const ParameterSettings& settings = {});

  // Checks the operands with the op's type rule and appends an op to `block`. An unknown or missing
  // attribute and a violated rule are Error(usage), in the form of describe_mistake(). `blocks`,
  // made by make_block(), become blocks of the op.
  Op* append(Block& block, std::string_view op, std::vector<Value*> operands, Attributes attributes,
             const Location& location, std::vector<std::unique_ptr<Block>> blocks = {});
  // Appends a copy of `like` without checking types, as when cloning. Copies the definition,
  // attributes, location and result types, but not the nested blocks.
  Op* append_like(Block& block, const Op& like, std::vector<Value*> operands);

  // Returns a nested block that belongs to no op yet. Ops in it can read the values defined in
  // `around` and the blocks that enclose `around`.
  std::unique_ptr<Block> make_block(Block& around);
  // Adds a nested block to `op`, or an argument to a block. Names are unique in the whole Program.
  Block& add_block(Op& op);
  Value* add_argument(Block& block, std::string name, Type type);
  // Adds a result to an op with blocks, after one of its blocks returns one more value.
  Value* add_result(Op& op, Type type);
  // Returns `stem`, or "stem_1", "stem_2" ... if it is taken.
  std::string unique_argument(std::string_view stem) const;
  // The Builder of functions that find their Program through a Value.
  Builder& builder() const { return *builder_; }

  // Whether a layer at `path`, or below it, has parameters.
  bool has_parameters(std::string_view path) const;

 private:
  void check_declaration(const std::string& name, const char* what, const Type& type) const;
  Op* insert_op(Block& block, const OpDef& def, std::vector<Value*> operands, Attributes attributes,
                Location location, std::vector<Type> types);

  const OpSet* op_set_;
  std::vector<std::unique_ptr<Parameter>> parameters_;
  std::map<std::string, Parameter*, std::less<>> by_name_;
  std::set<std::string, std::less<>> argument_names_;  // of all blocks, and of arguments removed
  Block main_;
  std::unique_ptr<Builder> builder_;
};

// The names of sets of updates, also of a parsed Program, in the order of their ops. The layer of
// the ops of set "d" is "optimizer.d" or below; that of the set without a name is "optimizer".
std::vector<std::string> names_of_updates(const Program& program);
std::string layer_of_updates(std::string_view name);
// The set to which an op belongs; empty if it updates no parameters.
std::optional<std::string_view> update_of(const Op& op);
const UpdateSet* find_updates(const Program& program, std::string_view name);  // null if unknown
// Where a set comes from: "at FILE:LINE" or "in its text". Empty if there is none.
std::string place_of_updates(const Program& program, std::string_view name);
// The parameter to which `state` of an optimizer belongs, or `state` if it is trainable itself.
// Empty for state of no parameter, such as the number of updates.
std::string_view owner_of_state(const Program& program, std::string_view state);
// Error(usage) that lists the names, if the Program has no updates of that name.
void require_updates(const Program& program, std::string_view name, const char* function);

bool same(const Attribute& a, const Attribute& b);  // kind and value; NaN equals NaN
bool same(const Attributes& a, const Attributes& b);

// Returns `given` sorted, checked against the signature of `def`, with defaults filled in. Accepts
// an integer for a float and integers for a shape. Throws TypeError.
Attributes complete_attributes(const OpDef& def, Attributes given);

// Convert settings to attributes, leaving out defaults, and back. Error(usage) for unknown names
// and values out of range.
Attributes attributes_of(const ParameterSettings& settings);
ParameterSettings settings_from(const Attributes& attributes);
void check(const ParameterSettings& settings);
// Returns whether `text` matches the glob `pattern`, in which * stands for any characters.
bool matches(std::string_view pattern, std::string_view text);

// The text form; README.md has the grammar. parse() throws Error(data) with line and column. It
// accepts the output of print(), and also other white space, other comments and other result
// numbers. Text of users may not contain internal ops (Trait::internal); dumps of the compiler may.
std::string print(const Program& program);
enum class InternalOps : bool { refuse, accept };
std::unique_ptr<Program> parse(std::string_view text, const OpSet& op_set,
                               InternalOps internal_ops = InternalOps::accept);

// Returns the splits of `rows` that an op at the end of `block` can read; null if there are none.
Value* find_splits(const Block& block, const Dim& rows);

// Returns whether an op at the end of `block` may read `value`: it is a parameter, or is defined in
// `block` or in an enclosing block.
bool is_visible(const Value& value, const Block& block);

// Runs the type rule of `def` and checks its result against the signature. Throws TypeError.
std::vector<Type> result_types(const OpDef& def, const std::vector<Value*>& operands,
                               const Attributes& attributes,
                               const std::vector<std::unique_ptr<Block>>& blocks);

// Checks that the Program is well-formed: values are defined before use, types agree with the
// rules, names are unique, attributes are complete. Throws Error(internal) that names the op.
void verify(const Program& program);

// Returns the name of a value in the text form: "%image", "%linear_0.weight", or "%12" for a
// result. Results are found by walking the Program, so do not call this in loops.
std::string name_in_text(const Value* value);

// Returns whether `text` is a valid name of a value, parameter or layer: letters, digits and
// "_./-", first a letter or '_', at most 512 characters.
bool is_name(std::string_view text);

}  // namespace trireme::ir
