#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "trireme/dtype.h"
#include "trireme/error.h"
#include "trireme/export.h"
#include "trireme/shape.h"

namespace trireme {

namespace ir {
struct Value;
class Program;
}  // namespace ir

using SourceLocation = std::source_location;

// A handle to one value of a Program: cheap to copy, valid while its Program lives.
class TRIREME_API Value {
 public:
  Value() = default;
  explicit Value(ir::Value* value) : value_(value) {}

  explicit operator bool() const { return value_ != nullptr; }
  DType dtype() const;
  const Shape& shape() const;
  int rank() const { return static_cast<int>(shape().size()); }
  const Dim& dim(int axis) const;  // negative axes count from the end
  std::string name() const;        // "%image", "%12", "%linear_0.weight"
  std::string str() const;         // "%12 : f32[batch, 10]"

  ir::Value* get() const { return value_; }
  friend bool operator==(const Value& a, const Value& b) { return a.value_ == b.value_; }

 private:
  ir::Value* value_ = nullptr;
};

// An operand of an operator, with the place in the user's code where it was written. Made from a
// Value or a number without a word: in `x * 2.0f` both sides become Operands.
class TRIREME_API Operand {
 public:
  Operand(Value value, SourceLocation where = SourceLocation::current())  // NOLINT
      : value_(value), where_(where) {}
  Operand(double number, SourceLocation where = SourceLocation::current())  // NOLINT
      : is_number_(true), number_(number), where_(where) {}

  bool is_number() const { return is_number_; }
  Value value() const { return value_; }
  double number() const { return number_; }
  const SourceLocation& where() const { return where_; }

 private:
  Value value_;  // empty if is_number_
  bool is_number_ = false;
  double number_ = 0;
  SourceLocation where_;
};

// What an op or an initializer carries besides values.
using Attribute = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, DType, Shape>;
struct NamedAttribute {
  std::string name;
  Attribute value;
};
using Attributes = std::vector<NamedAttribute>;  // kept sorted by name inside the Program

// How a Parameter gets its first value: a name such as "kaiming_uniform" and its numbers. Made by
// the functions of trireme/nn.h; kept in the Program as text.
struct Initializer {
  std::string name = "constant";
  Attributes attributes;
};

// What an optimizer makes of one parameter, beside its own options.
struct ParameterSettings {
  double learning_rate = 1;  // times the optimizer's; above 0
  double weight_decay = 1;   // times the optimizer's weight_decay; 0: none
  double l1 = 0, l2 = 0;     // l1 * sign(p) + l2 * p is added to the gradient
  bool frozen = false;       // no gradient, no update, no optimizer state
  friend bool operator==(const ParameterSettings&, const ParameterSettings&) = default;
};

struct ParameterOptions {
  Initializer initializer = {};
  bool trainable = true;  // false: state that the Program keeps, such as a running mean
  ParameterSettings settings = {};
};

// The shape of an input of sequences of different lengths, which lie behind each other without padding.
// `outer` has a dimension for each level: {batch} for a sequence per example, {batch, sentences} for
// examples of sentences of words. `row` is the shape of one element.
struct RaggedShape {
  struct Made {};  // by ragged() alone, so that { ... } is a dense shape
  RaggedShape(Made, Shape outer_dims, Shape row_shape)
      : outer(std::move(outer_dims)), row(std::move(row_shape)) {}
  Shape outer;
  Shape row;
};
inline RaggedShape ragged(Shape outer = {batch}, Shape row = {}) {
  return {RaggedShape::Made{}, std::move(outer), std::move(row)};
}

// A network, its parameters and, after minimize(), its training step: data that can be printed,
// read back, transformed and compiled. Not safe for use by several threads at once.
class TRIREME_API Program {
 public:
  explicit Program(std::string name = "main");
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  Program clone() const;

  const std::string& name() const;

  // An input that every run must feed. Errors: a name that is taken or not a name.
  Value input(std::string_view name, DType dtype, Shape shape,
              SourceLocation where = SourceLocation::current());

  // An input of sequences: a value of type [NAME, row...], NAME being a new symbol, the number of all
  // their elements. Beside it stand the inputs that say where each sequence begins and ends, i64: for one
  // level NAME.splits [outer + 1], for several NAME.splits_0, the outermost, NAME.splits_1 ...
  // What is computed element by element keeps the dimension, and with it the sequences. Another input of
  // the same sequences is a dense one with that dimension: input("tags", i64, {words.dim(0)}).
  // Errors: as above; usage, for a level that is no plain symbol.
  Value input(std::string_view name, DType dtype, const RaggedShape& shape,
              SourceLocation where = SourceLocation::current());

  // Mutable state: a weight, a running mean, an optimizer's moment. `name` is put behind the
  // current scope ("encoder/linear_0.weight"). Errors: a name that is taken, a symbolic shape.
  Value parameter(std::string_view name, DType dtype, Shape shape, ParameterOptions options = {},
                  SourceLocation where = SourceLocation::current());

  // All that is made until the guard dies belongs to layer `name` ("encoder", then "encoder/ffn").
  class TRIREME_API Scope {
   public:
    Scope(Scope&&) noexcept;
    Scope& operator=(Scope&&) = delete;
    ~Scope();

   private:
    friend class Program;
    Scope(ir::Program* program, std::string previous);
    ir::Program* program_;
    std::string previous_;
    bool was_sharing_;
  };
  Scope scope(std::string_view name);
  // A scope for what is built several times with one set of parameters, as a decoder for training and for
  // generation. The first time it is as scope(); when there are parameters of layer `name`, layers are
  // named from the start again, and their parameters are those that there are, whatever their options say.
  // Errors: usage, for one that there is not, or of another type.
  Scope shared_scope(std::string_view name);
  std::string unique_name(std::string_view stem);  // "linear_0", "linear_1" ... in this scope

  // The values that the main block returns, in order; a saved model returns its outputs.
  void set_outputs(const std::vector<Value>& outputs);
  std::vector<Value> outputs() const;
  std::vector<Value> inputs() const;
  std::vector<Value> parameters() const;

  // The settings of the trainable parameters whose names `pattern` matches, where * stands for any
  // characters ("encoder/*", "*.bias"). They say what a later minimize() does. Gives the number of
  // parameters. Errors: not_found, if there is none; usage, for numbers that make no sense.
  int configure(std::string_view pattern, const ParameterSettings& settings);
  ParameterSettings settings(std::string_view name) const;  // Errors: not_found
  Value find(std::string_view name) const;  // an input or parameter by name; empty if none

  std::string str() const;                      // the text form, complete
  static Program parse(std::string_view text);  // its exact inverse; throws Error(data)

  ir::Program& ir() const { return *ir_; }
  explicit Program(std::unique_ptr<ir::Program> ir);

 private:
  std::unique_ptr<ir::Program> ir_;
};

// Appends one op by name to the Program of its operands, after checking types; what the functions
// of trireme/ops.h are made of. Operands of elementwise ops are broadcast against each other and
// numbers take the dtype of the first Value.
TRIREME_API std::vector<Value> emit(std::string_view op, const std::vector<Operand>& operands,
                                    Attributes attributes, const SourceLocation& where);

TRIREME_API Value operator+(Operand a, Operand b);
TRIREME_API Value operator-(Operand a, Operand b);
TRIREME_API Value operator*(Operand a, Operand b);
TRIREME_API Value operator/(Operand a, Operand b);
TRIREME_API Value operator-(Operand a);
TRIREME_API Value operator<(Operand a, Operand b);
TRIREME_API Value operator<=(Operand a, Operand b);
TRIREME_API Value operator>(Operand a, Operand b);
TRIREME_API Value operator>=(Operand a, Operand b);
// Equality of elements is equal(a, b): `==` compares handles.

}  // namespace trireme
