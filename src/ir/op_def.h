#pragma once

// The definition of an op that a Program needs: its signature, traits, type rule and gradient rule.
// ops::Op (ops/op.h) adds how to compute it.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/type.h"
#include "trireme/program.h"

namespace trireme::ir {

struct Op;
struct Value;
struct Block;

// Properties of ops. Transforms and the compiler query them instead of comparing op names.
enum class Trait : std::uint32_t {
  elementwise = 1u << 0,  // same shape for all; element i depends on elements i
  reduction = 1u << 1,    // combines elements along attribute `axes`
  view = 1u << 2,         // moves elements without computing: reshape, transpose, broadcast ...
  generator = 1u << 3,    // reads no values: constant, iota, random
  random = 1u << 4,       // differs between runs; not merged with an equal op
  side_effect = 1u << 5,  // kept even if its results are unused: assign
  library = 1u << 6,      // runs as a library kernel
  commutative = 1u << 7,
  not_differentiable = 1u << 8,  // gradient is zero or undefined: comparisons, argmax, casts to int
  cheap = 1u << 9,               // cheaper to recompute than to store and load
  contraction = 1u << 10,        // a sum of products (matmul, conv) with a generated kernel
  // Its first result is the splits of new rows. It defines the number of these rows.
  makes_splits = 1u << 11,
  sequences = 1u << 12,   // computes each sequence independently, from the splits of its rows
  reshape = 1u << 13,     // a view with the same elements in the same row-major order
  broadcast = 1u << 14,   // a view that repeats elements along all axes but attribute `axes`
  constant = 1u << 15,    // a generator: every element is attribute `value`
  counts = 1u << 16,      // returns counts or positions, which 16-bit floats cannot hold
  shape_only = 1u << 17,  // reads the shapes of its operands, not their elements
  replaced = 1u << 18,    // the compiler replaces it, so that it has no kernel
  internal = 1u << 19,    // only the compiler makes it; Program::parse() and emit() refuse it
};

// How an op with blocks runs them.
enum class ControlFlow : std::uint8_t { none, cond, while_loop, scan, rnn, packed_rnn };

// A violated type rule, thrown by type rules. describe_mistake() adds layer, line and shapes.
struct TypeError {
  std::string message;  // "the inner dimensions differ: x f32[4, 5], weight f32[6, 7]"
  std::string hint;     // what to try; may be empty
};

struct OpDef;

// The operands as messages name them: texts[0] is "x f32[batch, 10]". Made only when they are read,
// because most ops have no mistake. Refers to the types.
class OperandTexts {
 public:
  OperandTexts(const OpDef& def, const std::vector<Type>& types) : def_(&def), types_(&types) {}
  std::string operator[](std::size_t i) const;

 private:
  const OpDef* def_;
  const std::vector<Type>* types_;
};

// The input of a type rule.
struct TypeContext {
  const std::vector<Type>& operands;
  const Attributes& attributes;  // with defaults filled in
  OperandTexts operand_texts;    // for messages
  std::vector<const Block*> blocks = {};
};

// The input of a gradient rule. The rule builds ops in the Program of `op` and passes gradients to
// the operands of `op`.
class GradientContext {
 public:
  virtual ~GradientContext() = default;
  virtual const Op& op() const = 0;
  virtual trireme::Value operand(int i) const = 0;
  virtual trireme::Value result(int i = 0) const = 0;
  // The gradient of the loss with respect to a result; never empty.
  virtual trireme::Value gradient(int result = 0) const = 0;
  virtual bool has_gradient(int result) const = 0;  // false: gradient() is zeros
  virtual bool needs_gradient(
      int operand) const = 0;  // false: the operand's gradient is not needed
  virtual void accumulate(int operand, trireme::Value gradient) = 0;  // adds to earlier gradients
  // The same for an operand that only Programs compiled for training (or for inference) use. What
  // the gradient passes through costs nothing in the others.
  virtual void accumulate_when(bool training, int operand, trireme::Value gradient) = 0;
  // The same for a gradient that is zero except in some rows of axis 0: adds values[i] to the
  // gradient of row rows[i]. `rows` are integers; the shape of `values` is the shape of `rows`
  // followed by the shape of a row.
  virtual void accumulate_rows(int operand, trireme::Value rows, trireme::Value values) = 0;
};

struct AttributeSpec {
  std::string name;
  enum class Kind : std::uint8_t {
    boolean,
    integer,
    number,
    text,
    integers,
    numbers,
    dtype,
    shape
  } kind;
  bool required = false;
  Attribute default_value;
};
// Returns the kind as a signature has it: "ints".
std::string_view kind_name(AttributeSpec::Kind kind);

struct OpDef {
  // "conv2d(x, weight; stride: ints = [1, 1], groups: int = 1)". Operands come before the
  // semicolon; a last operand written `xs...` takes any number. Attributes come after it; one
  // without `=` is required. Kinds: bool int float string ints floats dtype shape. An op has one
  // result unless the signature ends in `-> y, position` (two), `-> ()` (none) or `-> ys...` (any
  // number).
  std::string signature;
  std::string doc;  // one sentence, then details; shapes, dtypes, source
  std::uint32_t traits = 0;
  // The names in the previous version. Program text may use them, and hashes of Programs contain
  // them, so that checkpoints stay valid.
  std::string old_name;
  std::vector<std::pair<std::string, std::string>> old_attributes;  // {old, new}
  std::function<std::vector<Type>(const TypeContext&)> type;
  std::function<void(GradientContext&)> gradient;  // empty: not differentiable
  std::string no_gradient_reason;  // why a differentiable op has no rule: "..., because REASON"
  // True if the gradient rule reads no operand, so that operands need not be kept for it.
  bool gradient_ignores_operands = false;
  // Elementwise ops: computes one element of the result in double from one element of each operand.
  // Used to fold constants; may be empty.
  std::function<double(const Op& op, const std::vector<double>& operands)> fold;

  // rows[i] is true if axis 0 of operand i counts the rows of a batch or of its sequences. Returns
  // whether axis 0 of the results counts the same rows, and row r of a result depends only on rows
  // r of these operands (and on all of the other operands). If empty: true for elementwise ops
  // only.
  std::function<bool(const Op& op, const std::vector<bool>& rows)> row_wise;
  // Returns whether the results have no such rows and are sums over the rows of the results for
  // each row alone. If empty: false.
  std::function<bool(const Op& op, const std::vector<bool>& rows)> row_additive;

  // Returns whether the op repeats the row that operand 0 has for each sequence at each row of this
  // sequence. If empty: false.
  std::function<bool(const Op& op)> expands_sequences;
  // Returns the axes of operand 0 along which an element of a result depends on elements at other
  // positions. If empty: the axes of a reduction, no axes of other ops.
  std::function<std::vector<int>(const Op& op)> mixed_axes;

  // Ops with blocks.
  ControlFlow control = ControlFlow::none;

  // Ops with an attribute `layout` ("nchw" or "nhwc"): the operands and results that are images in
  // that layout. Transforms may change the layout if they transpose these.
  std::vector<int> image_operands, image_results;

  // Parsed from the signature by the constructor of ops::Op.
  std::string name;
  std::vector<std::string> operands;
  bool variadic = false;
  int result_count = 1;
  std::vector<std::string> results = {"result"};  // their names
  bool variadic_results = false;                  // the number depends on its blocks
  std::vector<AttributeSpec> attributes;

  bool has(Trait trait) const { return (traits & static_cast<std::uint32_t>(trait)) != 0; }
};
constexpr std::uint32_t operator|(Trait a, Trait b) {
  return static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b);
}
constexpr std::uint32_t operator|(std::uint32_t a, Trait b) {
  return a | static_cast<std::uint32_t>(b);
}

// Fills name, operands, variadic, result_count and attributes of `def` from def.signature.
// Error(internal) if the signature does not parse.
void parse_signature(OpDef& def);

// Renames the attributes that have names of the previous version.
void use_new_names(const OpDef& def, Attributes& attributes);

class OpSet {
 public:
  virtual ~OpSet() = default;
  virtual const OpDef* find(std::string_view name) const = 0;  // null if there is none
  // Finds an op by the name that it had in the previous version.
  virtual const OpDef* find_renamed(std::string_view) const { return nullptr; }
  virtual std::vector<std::string> names() const = 0;
};
// Returns the names of the ops that users may make, for suggestions.
std::vector<std::string> public_names(const OpSet& op_set);

}  // namespace trireme::ir
