#pragma once

// Kernel IR: the loops and scalar expressions of one kernel. A Kernel is data. This room prints and
// verifies it; codegen/interpreter runs it and codegen/llvm turns it into machine code. Both
// implement the semantics in this file to the bit.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "trireme/dtype.h"

namespace trireme::kernel_ir {

// Scalar expressions form a DAG owned by a Kernel; equal expressions are one node (hash-consed).
using ExprId = std::int32_t;
inline constexpr ExprId kNoExpr = -1;

enum class ExprOp : std::uint8_t {
  // Leaves
  constant,     // `number` for floats, `integer` for boolean and integers
  size,         // sizes[index], an i64 given at run time
  loop_var,     // loop variable number `index`, i64
  load,         // buffers[index][args[0]]; args[1], if present, is a boolean guard: where it is
                // false nothing is read and the result is zero. A load of u32 or i32 from a buffer
                // of u8 or i8 reads the four elements from args[0] on, the first one lowest; a
                // load of i32 from a buffer of i16 the two elements
  accumulator,  // final value of accumulator `index`, readable only after the loops that feed it
  accumulator_index,  // for argmax and argmin: the index that goes with the value, i64

  // One argument. Floats only: sqrt floor ceil round_even trunc and the maths functions. neg and
  // abs of integers wrap. logical_not is for booleans, popcount for integers.
  neg,
  abs,
  sqrt,
  floor,
  ceil,
  round_even,
  trunc,
  logical_not,
  popcount,  // the number of bits that are 1
  exp,
  log,
  tanh,
  sigmoid,
  erf,
  erfc,  // 1 - erf(x), exact where that is tiny
  sin,
  cos,
  tan,
  atan,
  log1p,    // log(1 + x)
  expm1,    // exp(x) - 1; exp to expm1 are removed by expand_math() for f32
  cast,     // to `type`. float to integer truncates; NaN gives 0, out of range saturates. integer
            // to integer wraps. to boolean is "not equal to 0". bf16 and f16 go to and from f32
            // alone, rounded to the nearest, of two to the even one
  bitcast,  // between dtypes of one size, but not boolean

  // Two arguments of one type. Integer arithmetic wraps; div and rem truncate as in C, and
  // division by zero gives 0; rem of floats is fmod. min and max give NaN if either argument is
  // NaN, and the first of equal ones (zeros of both signs). pow is for floats. Booleans know only
  // min, max, the bit operations and comparisons.
  add,
  sub,
  mul,
  div,
  rem,
  min,
  max,
  pow,
  bit_and,
  bit_or,
  bit_xor,  // integers and boolean
  shl,
  shr,   // integers; shr is logical; the count is taken modulo the width
  dot4,  // i32: the sum of the four products of the bytes of args[0] and args[1]. Those of u32 are
         // unsigned, those of i32 are signed; args[1] is i32
  dot2,  // i32: the sum of the two products of the signed halves of two i32; wraps
  eq,
  ne,
  lt,
  le,  // give boolean; false if either argument is NaN, ne true

  // Three arguments
  select,  // args[0] ? args[1] : args[2]
  fma,     // args[0] * args[1] + args[2], rounded once; floats only
};

int argument_count(ExprOp op);   // 0 to 3; a load has 1 or 2 and counts as a leaf with 0
const char* name_of(ExprOp op);  // "add"

struct Expr {
  ExprOp op;
  DType type;
  std::int32_t index = 0;    // of the size, loop variable, buffer or accumulator
  std::int64_t integer = 0;  // constant
  double number = 0;         // constant
  ExprId args[3] = {kNoExpr, kNoExpr, kNoExpr};
  bool operator==(const Expr&) const;
};

// bf16 and f16 are only stored and moved: constant, load, select, cast and store accept them.
enum class ReduceOp : std::uint8_t { sum, prod, min, max, argmin, argmax };
const char* name_of(ReduceOp op);

// How a loop runs.
//   parallel  iterations are independent; the outermost statement of every kernel is its only
//             parallel loop, and a caller may run any subrange [begin, end) of it on any thread
//   serial    in order
//   vector    in steps of `lanes`; the lanes of one step are computed side by side, a last
//             incomplete step with its missing lanes switched off (no load, store or accumulation)
enum class LoopKind : std::uint8_t { parallel, serial, vector };

enum class StmtKind : std::uint8_t { loop, declare, accumulate, store };

// A vector loop may contain serial loops but no other vector loop. The trip count of a loop inside
// a vector loop must be the same for all lanes. A loop with an extent <= 0 does nothing. No
// loop shares its variable with a loop around it (siblings may share one).
struct Stmt {
  StmtKind kind;

  // loop: variable `loop_var` runs over [0, extent). body is what it does.
  LoopKind loop_kind = LoopKind::serial;
  std::int32_t loop_var = -1;
  ExprId extent = kNoExpr;
  // vector only: partial results of a reduction go round-robin into `lanes * unroll` partial
  // accumulators: element i into partial i % (lanes * unroll). At the end partial j and j + n/2 are
  // combined for n = lanes * unroll, then n/2 ... 1, and the last one into the accumulator, so the
  // result does not depend on who computes. When argmin or argmax combine equal values, the smaller
  // index wins. Partials start at the identity each time the loop is run.
  std::int32_t lanes = 1;   // 1, 2, 4 ... 256
  std::int32_t unroll = 1;  // 1, 2, 4 ... 16
  std::vector<Stmt> body;

  // declare: accumulator `accumulator` starts at the identity of `reduce` (0, 1, +inf or largest,
  // -inf or smallest, index 0). A declaration inside a vector loop is one accumulator per lane.
  // accumulate: acc = reduce(acc, value). A sum of floats whose value is a mul is rounded once:
  // acc = fma(a, b, acc). For argmax/argmin the first of equal values wins and NaN beats
  // everything; `index` is what is remembered.
  // A declaration stands in the same block as, and before, the loops that feed it.
  std::int32_t accumulator = -1;
  ReduceOp reduce = ReduceOp::sum;
  DType type = DType::f32;
  ExprId value = kNoExpr;
  ExprId index = kNoExpr;

  // store: buffers[buffer][index] = value, if `guard` is absent or true. Two different iterations
  // of a parallel or vector loop never store to the same element.
  std::int32_t buffer = -1;
  ExprId guard = kNoExpr;
};

enum class BufferRole : std::uint8_t {
  input,    // only loaded
  output,   // only stored
  inout,    // loaded and stored; element i is stored only after all its loads, where a load that
            // several statements of one block use counts once, at its first use
  scratch,  // private to each caller; `scratch_elements` long, contents undefined at entry
};

struct Buffer {
  DType type;
  BufferRole role;
  std::string name;                   // for people
  ExprId scratch_elements = kNoExpr;  // scratch only; uses sizes and constants
};

// buffers and sizes are the kernel's parameters, in this order. Compiled form:
//   void kernel(void* const* buffers, const int64_t* sizes, int64_t begin, int64_t end);
// runs iterations [begin, end) of the parallel loop. Buffers never overlap unless they are the same
// inout buffer. Loads and stores of scratch keep their order; a load of another buffer may be done
// earlier than written, but not where it would not have been done at all.
class Kernel {
 public:
  std::string name;
  std::vector<Buffer> buffers;
  std::vector<std::string> sizes;  // names, for people
  std::int32_t loop_vars = 0;      // how many there are
  std::int32_t accumulators = 0;
  Stmt root;  // the parallel loop

  const std::vector<Expr>& exprs() const { return exprs_; }
  const Expr& expr(ExprId id) const { return exprs_[static_cast<std::size_t>(id)]; }
  // Returns the existing node if there is an equal one. The constant's value is first brought to
  // its type: integers wrapped, f32 rounded, one NaN for all.
  ExprId add(const Expr& expr);

 private:
  std::vector<Expr> exprs_;
  std::unordered_multimap<std::size_t, ExprId> ids_;
};

// Make statements.
Stmt make_loop(LoopKind kind, std::int32_t loop_var, ExprId extent, std::vector<Stmt> body,
               std::int32_t lanes = 1, std::int32_t unroll = 1);
Stmt make_declare(std::int32_t accumulator, ReduceOp reduce, DType type);
Stmt make_accumulate(std::int32_t accumulator, ReduceOp reduce, DType type, ExprId value,
                     ExprId index = kNoExpr);
Stmt make_store(std::int32_t buffer, ExprId index, ExprId value, ExprId guard = kNoExpr);

// The product that an accumulate statement adds with one rounding; null if it adds none.
const Expr* product_added(const Kernel& kernel, const Stmt& accumulate);

// Whether a load has the type of the buffer's elements, or is a word of several of them.
bool fits_buffer(DType load, DType element);

// The accumulators that are fed inside `loop` and declared outside, one accumulate statement of
// each, in order of first use. The pointers point into `loop`.
std::vector<const Stmt*> fed_by(const Stmt& loop);

// Makes expressions, folding constants and the identities x+0, x*1, x*0 (integers), x/1, x%1,
// select of a constant, and (a*n+b)/n, (a*n+b)%n with 0<=b<n where it can be seen. Every function's
// arguments must have the types its ExprOp asks for; a violation is Error(internal).
// For i64 it is assumed that index arithmetic does not overflow, that sizes are not negative and
// that a size something is divided by is positive (is_index() below assumes more).
class Builder {
 public:
  explicit Builder(Kernel& kernel) : kernel_(kernel) {}
  Kernel& kernel() { return kernel_; }

  // Declares that the loop variable is always below `extent`, so that v / extent and v % extent
  // fold.
  void set_extent(std::int32_t loop_var, ExprId extent);

  DType type(ExprId id) const { return kernel_.expr(id).type; }

  ExprId constant(DType type, double value);
  ExprId integer(std::int64_t value, DType type = DType::i64);
  ExprId boolean(bool value);
  ExprId size(std::int32_t index);
  ExprId loop_var(std::int32_t index);
  ExprId load(std::int32_t buffer, ExprId index, ExprId guard = kNoExpr);
  // Loads four elements of a buffer of u8 as u32 or of i8 as i32, or two elements of i16 as i32.
  ExprId load_word(std::int32_t buffer, ExprId index);
  ExprId dot4(ExprId a, ExprId b);
  ExprId dot2(ExprId a, ExprId b);
  ExprId accumulator(std::int32_t index, DType type);
  ExprId accumulator_index(std::int32_t index);
  ExprId unary(ExprOp op, ExprId a);
  ExprId cast(ExprId a, DType type);
  ExprId bitcast(ExprId a, DType type);
  ExprId binary(ExprOp op, ExprId a, ExprId b);
  ExprId select(ExprId condition, ExprId a, ExprId b);
  ExprId fma(ExprId a, ExprId b, ExprId c);

  ExprId add(ExprId a, ExprId b) { return binary(ExprOp::add, a, b); }
  ExprId sub(ExprId a, ExprId b) { return binary(ExprOp::sub, a, b); }
  ExprId mul(ExprId a, ExprId b) { return binary(ExprOp::mul, a, b); }
  ExprId div(ExprId a, ExprId b) { return binary(ExprOp::div, a, b); }
  ExprId rem(ExprId a, ExprId b) { return binary(ExprOp::rem, a, b); }
  ExprId min(ExprId a, ExprId b) { return binary(ExprOp::min, a, b); }
  ExprId max(ExprId a, ExprId b) { return binary(ExprOp::max, a, b); }
  ExprId lt(ExprId a, ExprId b) { return binary(ExprOp::lt, a, b); }
  ExprId le(ExprId a, ExprId b) { return binary(ExprOp::le, a, b); }
  ExprId eq(ExprId a, ExprId b) { return binary(ExprOp::eq, a, b); }
  ExprId logical_and(ExprId a, ExprId b) { return binary(ExprOp::bit_and, a, b); }
  ExprId logical_or(ExprId a, ExprId b) { return binary(ExprOp::bit_or, a, b); }

 private:
  ExprId make(const Expr& expr);
  ExprId fold(const Expr& expr);  // kNoExpr if nothing folds
  ExprId fold_integer(const Expr& expr);
  ExprId fold_float(const Expr& expr);
  ExprId fold_division(const Expr& expr);
  bool is_constant(ExprId id) const { return kernel_.expr(id).op == ExprOp::constant; }
  bool is_integer_constant(ExprId id, std::int64_t value) const;
  bool not_negative(ExprId id) const;
  bool less(ExprId a, ExprId b) const;  // a < b for sure
  bool divide_exactly(ExprId a, ExprId n, ExprId* quotient);
  void sum_terms(ExprId id, std::vector<ExprId>* terms) const;

  Kernel& kernel_;
  std::unordered_map<std::int32_t, ExprId> extents_;
};

// Whether an expression is made of sizes, loop variables and constants alone so that it cannot be
// negative. Such a value is taken to be below 2^52: no memory is larger. Code generators use it to
// divide vectors of indices quickly.
bool is_index(const Kernel& kernel, ExprId id);

std::string print(const Kernel& kernel);
Kernel parse(const std::string& text);  // exact inverse of print; throws Error(data)
void verify(const Kernel& kernel);      // throws Error(internal) naming the offending part

// Replaces exp, log, tanh, sigmoid, erf, erfc, sin, cos, tan, atan, log1p, expm1 and pow of f32 by
// polynomials of other operations, with equal results on every target. math.cc states the bounds in
// units in the last place, and math_test checks them over the range of floats. The C library of the
// target computes f64 functions.
void expand_math(Kernel& kernel);

}  // namespace trireme::kernel_ir
