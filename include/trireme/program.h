#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/attribute.h"
#include "trireme/dtype.h"
#include "trireme/error.h"
#include "trireme/export.h"
#include "trireme/shape.h"
#include "trireme/source_location.h"

namespace trireme {

namespace ir {
struct Value;
class Program;
}  // namespace ir

// A handle to one value of a Program. Cheap to copy; valid while the Program, or a Session or
// Trainer of it, exists.
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

// An operand of an operator, with the source location where it was written. Converts implicitly
// from a Value or a number: in `x * 2.0f` both sides become Operands.
class TRIREME_API Operand {
 public:
  Operand(Value value, SourceLocation where = SourceLocation::current())  // NOLINT
      : value_(value), where_(where) {}
  Operand(double number, SourceLocation where = SourceLocation::current())  // NOLINT
      : is_number_(true), number_(number), where_(where) {}
  // Of what converts to a Value, such as an Array.
  template <std::convertible_to<Value> T>
    requires(!std::same_as<T, Value> && !std::convertible_to<T, double>)
  Operand(const T& value, SourceLocation where = SourceLocation::current())  // NOLINT
      : Operand(static_cast<Value>(value), where) {}

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

// How a parameter gets its first value: a name such as "kaiming_uniform" and its settings. Created
// by the functions of trireme/nn.h; stored in the Program as text.
struct Initializer {
  std::string name = "constant";
  Attributes attributes;
};

// Settings of one parameter that modify the optimizer's options.
struct ParameterSettings {
  double learning_rate = 1;  // factor for the optimizer's learning rate; above 0
  double weight_decay = 1;   // factor for the optimizer's weight_decay; 0: none
  double l1 = 0, l2 = 0;     // l1 * sign(p) + l2 * p is added to the gradient
  bool frozen = false;       // no gradient, no update, no optimizer state
  friend bool operator==(const ParameterSettings&, const ParameterSettings&) = default;
};

struct ParameterOptions {
  Initializer initializer = {};
  bool trainable = true;  // false: state of the Program, such as a running mean
  ParameterSettings settings = {};
};

// The shape of an input of sequences of different lengths, packed one after another without
// padding. `outer` has one dimension per level: {batch} for one sequence per example, {batch,
// sentences} for examples that are sentences of words. `row` is the shape of one element.
struct RaggedShape {
  struct Made {};  // only ragged() constructs one, so that { ... } is a dense shape
  RaggedShape(Made, Shape outer_dims, Shape row_shape)
      : outer(std::move(outer_dims)), row(std::move(row_shape)) {}
  Shape outer;
  Shape row;
};
inline RaggedShape ragged(Shape outer = {batch}, Shape row = {}) {
  return {RaggedShape::Made{}, std::move(outer), std::move(row)};
}

// A network, its parameters and, after minimize(), its training step. It can be printed, parsed,
// transformed and compiled. Sessions and Trainers share it, so it may be destroyed before them. Not
// thread-safe.
class TRIREME_API Program {
 public:
  explicit Program(std::string name = "main");
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  Program clone() const;
  // Another handle to the Program of a value, which keeps it alive.
  // Errors: usage, for an empty value.
  static Program of(const Value& value);

  const std::string& name() const;

  // An input that every run must feed.
  // Errors: usage, if the name is taken or invalid.
  Value input(std::string_view name, DType dtype, Shape shape,
              SourceLocation where = SourceLocation::current());

  // An input of sequences: a value of type [NAME, row...], where NAME is a new symbol, the total
  // number of their elements. The Program also gets i64 inputs with the boundaries of the
  // sequences: NAME.splits [outer + 1] for one level, or NAME.splits_0 (the outermost),
  // NAME.splits_1 ... for several.
  //
  // Elementwise results keep the dimension NAME and with it the sequences. For another input over
  // the same sequences, declare a dense input with that dimension: input("tags", i64,
  // {words.dim(0)}).
  // Errors: as above; usage, for a level that is not a single symbol.
  Value input(std::string_view name, DType dtype, const RaggedShape& shape,
              SourceLocation where = SourceLocation::current());

  // Mutable state: a weight, a running mean, an optimizer's moment. `name` is appended to the
  // current scope ("encoder/linear_0.weight").
  // Errors: usage, for a name that is taken or a symbolic shape.
  Value parameter(std::string_view name, DType dtype, Shape shape, ParameterOptions options = {},
                  SourceLocation where = SourceLocation::current());

  // Until the guard is destroyed, everything that is created belongs to layer `name` ("encoder",
  // then "encoder/ffn").
  class TRIREME_API Scope {
   public:
    Scope(Scope&&) noexcept;
    Scope& operator=(Scope&&) = delete;
    ~Scope();

   private:
    friend class Program;
    Scope(std::shared_ptr<ir::Program> program, std::string previous);
    std::shared_ptr<ir::Program> program_;
    std::string previous_;
    bool was_sharing_;
  };
  [[nodiscard]] Scope scope(std::string_view name);
  // A scope for code that is called several times with one set of parameters, such as a decoder for
  // training and for generation. The first call is like scope(). If layer `name` already has
  // parameters, layer names restart from 0 and layers use the existing parameters; their options
  // are ignored.
  // Errors: usage, for a parameter that does not exist or has another type.
  [[nodiscard]] Scope shared_scope(std::string_view name);
  std::string unique_name(std::string_view stem);  // "linear_0", "linear_1" ... in this scope

  // The values that the main block returns, in order. A saved model returns its outputs.
  void set_outputs(const std::vector<Value>& outputs);
  std::vector<Value> outputs() const;
  std::vector<Value> inputs() const;
  std::vector<Value> parameters() const;

  // Sets the settings of the trainable parameters whose names match `pattern`, where * matches any
  // characters ("encoder/*", "*.bias"). A later minimize() uses them. Returns the number of
  // parameters.
  // Errors: not_found, if no parameter matches; usage, for invalid settings and after minimize().
  int configure(std::string_view pattern, const ParameterSettings& settings);
  ParameterSettings settings(std::string_view name) const;  // Errors: not_found
  Value find(std::string_view name) const;  // an input or parameter by name; empty if none

  std::string str() const;                      // the text form, complete
  static Program parse(std::string_view text);  // the exact inverse. Errors: data

  ir::Program& ir() const { return *ir_; }
  const std::shared_ptr<ir::Program>& shared_ir() const { return ir_; }
  explicit Program(std::shared_ptr<ir::Program> ir);

 private:
  std::shared_ptr<ir::Program> ir_;
};

TRIREME_API std::ostream& operator<<(std::ostream& out, const Value& value);  // str(), or "(empty)"
TRIREME_API std::ostream& operator<<(std::ostream& out, const Program& program);  // str()

// Checks types and appends one op by name to the Program of its operands. The functions of
// trireme/ops.h call it. Operands of elementwise ops are broadcast against each other; numbers get
// the dtype of the first Value.
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
// For equality of elements use equal(a, b): `==` compares handles.

}  // namespace trireme
