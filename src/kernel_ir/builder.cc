// Builder: makes expressions, checking types; fold.cc has the folding rules.

#include <string>

#include "base/error.h"
#include "kernel_ir/kernel.h"

namespace trireme::kernel_ir {
namespace {

void require(bool condition, const char* what, ExprOp op) {
  if (!condition) fail_internal(std::string("kernel IR: ") + name_of(op) + ": " + what);
}

bool takes_integers(ExprOp op) { return op == ExprOp::neg || op == ExprOp::abs; }

bool same_width(DType a, DType b) {
  return size_of(a) == size_of(b) && a != DType::boolean && b != DType::boolean;
}

}  // namespace

void Builder::set_extent(std::int32_t loop_var, ExprId extent) { extents_[loop_var] = extent; }

ExprId Builder::make(const Expr& expr) {
  const ExprId folded = fold(expr);
  return folded == kNoExpr ? kernel_.add(expr) : folded;
}

ExprId Builder::constant(DType type, double value) {
  if (is_float(type)) {
    return kernel_.add({.op = ExprOp::constant, .type = type, .number = value});
  }
  return integer(static_cast<std::int64_t>(value), type);
}

ExprId Builder::integer(std::int64_t value, DType type) {
  if (is_float(type)) return constant(type, static_cast<double>(value));
  return kernel_.add({.op = ExprOp::constant, .type = type, .integer = value});
}

ExprId Builder::boolean(bool value) { return integer(value ? 1 : 0, DType::boolean); }

ExprId Builder::size(std::int32_t index) {
  return kernel_.add({.op = ExprOp::size, .type = DType::i64, .index = index});
}

ExprId Builder::loop_var(std::int32_t index) {
  return kernel_.add({.op = ExprOp::loop_var, .type = DType::i64, .index = index});
}

ExprId Builder::load(std::int32_t buffer, ExprId index, ExprId guard) {
  require(buffer >= 0 && static_cast<std::size_t>(buffer) < kernel_.buffers.size(),
          "there is no such buffer", ExprOp::load);
  require(type(index) == DType::i64, "the index must be i64", ExprOp::load);
  const DType element = kernel_.buffers[static_cast<std::size_t>(buffer)].type;
  if (guard != kNoExpr) {
    require(type(guard) == DType::boolean, "the guard must be boolean", ExprOp::load);
    if (is_integer_constant(guard, 0)) return constant(element, 0);
    if (is_constant(guard)) guard = kNoExpr;
  }
  return kernel_.add(
      {.op = ExprOp::load, .type = element, .index = buffer, .args = {index, guard, kNoExpr}});
}

ExprId Builder::load_word(std::int32_t buffer, ExprId index) {
  const DType element = kernel_.buffers[static_cast<std::size_t>(buffer)].type;
  require(element == DType::u8 || element == DType::i8 || element == DType::i16,
          "words are read from u8, i8 or i16", ExprOp::load);
  require(type(index) == DType::i64, "the index must be i64", ExprOp::load);
  return kernel_.add({.op = ExprOp::load,
                      .type = element == DType::u8 ? DType::u32 : DType::i32,
                      .index = buffer,
                      .args = {index, kNoExpr, kNoExpr}});
}

ExprId Builder::dot4(ExprId a, ExprId b) {
  require((type(a) == DType::u32 || type(a) == DType::i32) && type(b) == DType::i32,
          "takes words of four bytes", ExprOp::dot4);
  return make({.op = ExprOp::dot4, .type = DType::i32, .args = {a, b, kNoExpr}});
}

ExprId Builder::dot2(ExprId a, ExprId b) {
  require(type(a) == DType::i32 && type(b) == DType::i32, "takes words of two halves",
          ExprOp::dot2);
  return make({.op = ExprOp::dot2, .type = DType::i32, .args = {a, b, kNoExpr}});
}

ExprId Builder::accumulator(std::int32_t index, DType type) {
  return kernel_.add({.op = ExprOp::accumulator, .type = type, .index = index});
}

ExprId Builder::accumulator_index(std::int32_t index) {
  return kernel_.add({.op = ExprOp::accumulator_index, .type = DType::i64, .index = index});
}

ExprId Builder::unary(ExprOp op, ExprId a) {
  require(argument_count(op) == 1 && op != ExprOp::cast && op != ExprOp::bitcast,
          "not an operation of one argument", op);
  if (op == ExprOp::logical_not) {
    require(type(a) == DType::boolean, "takes a boolean", op);
  } else if (op == ExprOp::popcount) {
    require(is_integer(type(a)), "takes an integer", op);
  } else {
    require(is_arithmetic_float(type(a)) || (takes_integers(op) && is_integer(type(a))),
            "does not take this type", op);
  }
  return make({.op = op, .type = type(a), .args = {a, kNoExpr, kNoExpr}});
}

ExprId Builder::cast(ExprId a, DType to) {
  const DType from = type(a);
  const bool halves = is_half(from) || is_half(to);
  if (halves && from != to && from != DType::f32 && to != DType::f32) {
    return cast(cast(a, DType::f32), to);
  }
  return make({.op = ExprOp::cast, .type = to, .args = {a, kNoExpr, kNoExpr}});
}

ExprId Builder::bitcast(ExprId a, DType to) {
  require(to == type(a) || same_width(to, type(a)), "goes between dtypes of one size",
          ExprOp::bitcast);
  return make({.op = ExprOp::bitcast, .type = to, .args = {a, kNoExpr, kNoExpr}});
}

ExprId Builder::binary(ExprOp op, ExprId a, ExprId b) {
  require(argument_count(op) == 2 && op != ExprOp::dot4 && op != ExprOp::dot2,
          "not an operation of two arguments", op);
  require(type(a) == type(b), "takes two arguments of one type", op);
  require(!is_half(type(a)), "16-bit floats are stored, not computed with", op);
  const bool comparison = op >= ExprOp::eq && op <= ExprOp::le;
  const bool bits = op == ExprOp::bit_and || op == ExprOp::bit_or || op == ExprOp::bit_xor;
  const bool shift = op == ExprOp::shl || op == ExprOp::shr;
  if (bits) require(!is_arithmetic_float(type(a)), "takes integers or booleans", op);
  if (shift) require(is_integer(type(a)), "takes integers", op);
  if (op == ExprOp::pow) require(is_arithmetic_float(type(a)), "takes floats", op);
  if (!comparison && !bits && op != ExprOp::min && op != ExprOp::max) {
    require(type(a) != DType::boolean, "does not take booleans", op);
  }
  return make({.op = op, .type = comparison ? DType::boolean : type(a), .args = {a, b, kNoExpr}});
}

ExprId Builder::select(ExprId condition, ExprId a, ExprId b) {
  require(type(condition) == DType::boolean, "the condition must be boolean", ExprOp::select);
  require(type(a) == type(b), "takes two values of one type", ExprOp::select);
  return make({.op = ExprOp::select, .type = type(a), .args = {condition, a, b}});
}

ExprId Builder::fma(ExprId a, ExprId b, ExprId c) {
  require(is_arithmetic_float(type(a)) && type(a) == type(b) && type(a) == type(c),
          "takes three floats of one type", ExprOp::fma);
  return make({.op = ExprOp::fma, .type = type(a), .args = {a, b, c}});
}

}  // namespace trireme::kernel_ir
