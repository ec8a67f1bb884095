#pragma once

// What a Program must know of an op: its signature, its traits, how it types its results and how it
// is differentiated. How it is computed is added by ops::Op (ops/op.h).

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/type.h"
#include "trireme/program.h"

namespace trireme::ir {

struct Op;
struct Value;
struct Block;

// What transforms and the compiler ask of an op, instead of its name.
enum class Trait : std::uint32_t {
  elementwise = 1u << 0,  // results and operands have one shape; element i depends on elements i
  reduction = 1u << 1,    // combines elements along attribute `axes`
  view = 1u << 2,         // moves elements without computing: reshape, transpose, broadcast ...
  generator = 1u << 3,    // no operands that matter: constant, iota, random
  random = 1u << 4,       // differs from run to run; not merged with an equal op
  side_effect = 1u << 5,  // kept without users: assign
  library = 1u << 6,      // runs as a library kernel
  commutative = 1u << 7,
  not_differentiable = 1u << 8,  // gradient is zero or undefined: comparisons, argmax, casts to int
  cheap = 1u << 9,               // costs less to compute again than to store and load
  contraction = 1u << 10,        // a sum of products, as of matrices, that becomes a kernel of ours
  // Its first result is splits of rows that no operand has: from then on their number is known.
  makes_splits = 1u << 11,
  sequences = 1u << 12,  // computes each sequence by itself, given the splits of its rows
};

// A violated rule, before it is dressed with layer, line and shapes: throw from a type rule.
struct TypeError {
  std::string message;  // "the inner dimensions differ: x f32[4, 5], weight f32[6, 7]"
  std::string hint;     // what to try; may be empty
};

// What a type rule sees.
struct TypeContext {
  const std::vector<Type>& operands;
  const Attributes& attributes;            // complete
  std::vector<std::string> operand_texts;  // "x f32[batch, 10]": for messages
  std::vector<const Block*> blocks = {};
};

// What a gradient rule sees: builds ops, in the Program of `op`, and hands gradients to operands.
class GradientContext {
 public:
  virtual ~GradientContext() = default;
  virtual const Op& op() const = 0;
  virtual trireme::Value operand(int i) const = 0;
  virtual trireme::Value result(int i = 0) const = 0;
  virtual trireme::Value gradient(int result = 0) const = 0;  // of the loss by result; never empty
  virtual bool has_gradient(int result) const = 0;            // false: gradient() would be zeros
  virtual bool wants(int operand) const = 0;  // false: nobody needs this operand's gradient
  virtual void give(int operand, trireme::Value gradient) = 0;  // adds to what was given before
  // The same for a gradient that is zero but in some rows of axis 0: values[i] is added to that of
  // row rows[i]. `rows` are integers, and the shape of `values` is theirs and that of a row.
  virtual void give_rows(int operand, trireme::Value rows, trireme::Value values) = 0;
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

struct OpDef {
  // "conv2d(x, weight; stride: ints = [1, 1], groups: int = 1)". Operands before the semicolon (a
  // last one written `xs...` takes any number), attributes behind it; without `=` required. Kinds:
  // bool int float string ints floats dtype shape. An op has one result unless the signature ends
  // in `-> y, position` (two), `-> ()` (none) or `-> ys...` (any number). Read by tools/gen_ops.py too, which makes the
  // public function from it.
  std::string signature;
  std::string doc;  // one sentence, then details; shapes, dtypes, source
  std::uint32_t traits = 0;
  std::function<std::vector<Type>(const TypeContext&)> type;
  std::function<void(GradientContext&)> gradient;  // empty: not differentiable
  // Elementwise ops: the result's number where every operand is one number, in double. Used to fold
  // constants; may be empty.
  std::function<double(const Op& op, const std::vector<double>& operands)> fold;

  // Some operands have the rows of a batch, or of its sequences, as their axis 0: rows[i] says whether
  // operand i does. Whether the results have them too, row r depending on rows r alone (and all of the
  // other operands). Empty: no, but elementwise ops do.
  std::function<bool(const Op& op, const std::vector<bool>& rows)> row_wise;
  // Whether the results have no such rows and are sums over the rows of what each gives alone. Empty: no.
  std::function<bool(const Op& op, const std::vector<bool>& rows)> row_additive;

  // Ops with an attribute `layout` ("nchw" or "nhwc"): which operands and results are images in that
  // order. Transforms may change the layout if they transpose these.
  std::vector<int> image_operands, image_results;

  // Parsed from the signature by the constructor of ops::Op.
  std::string name;
  std::vector<std::string> operands;
  bool variadic = false;
  int result_count = 1;
  bool variadic_results = false;  // as many as its blocks say
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

class OpSet {
 public:
  virtual ~OpSet() = default;
  virtual const OpDef* find(std::string_view name) const = 0;  // null if there is none
  virtual std::vector<std::string> names() const = 0;
};

}  // namespace trireme::ir
