// emit(): what stands between an expression in the user's code and an op of the Program. Numbers
// become constants and operands of elementwise ops are broadcast, so that ops need not do either.

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/float_text.h"
#include "ir/mistake.h"
#include "ir/program.h"

namespace trireme {
namespace {

class Emitter {
 public:
  Emitter(std::string_view op, ir::Program& program, const SourceLocation& where)
      : op_(op), program_(program), location_(program.locate(where)) {}

  std::vector<Value> emit(const std::vector<Operand>& operands, Attributes attributes) {
    def_ = program_.op_set().find(op_);
    values_.reserve(operands.size());
    for (const Operand& operand : operands) values_.push_back(operand.value().get());
    check_owners(operands);
    replace_numbers(operands);
    if (def_ && def_->has(ir::Trait::elementwise)) broadcast_all();
    const ir::Op* made =
        program_.append(block(), op_, std::move(values_), std::move(attributes), location_);
    std::vector<Value> results;
    for (const auto& result : made->results) results.emplace_back(result.get());
    return results;
  }

 private:
  ir::Block& block() { return *program_.insertion_block; }

  [[noreturn]] void fail_mistake(const std::string& message, const std::string& hint) {
    fail_usage(ir::describe_mistake(op_, def_, values_, location_, {message, hint}));
  }

  // Before constants and broadcasts are made, so that a mistake leaves the Program as it was.
  void check_owners(const std::vector<Operand>& operands) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!values_[i] && !operands[i].is_number()) {
        fail_mistake("operand " + ir::operand_name(def_, i) + " is an empty Value",
                     "it was declared but never given a value");
      }
      if (!values_[i] || values_[i]->program == &program_) continue;
      fail_mistake("operand " + ir::operand_name(def_, i) + " belongs to another Program",
                   "build all of a network with values of one Program");
    }
  }

  // Numbers take the dtype of the first Value, conditions apart: in select(condition, x, 0.0) it is
  // that of x.
  DType dtype_of_numbers() const {
    const ir::Value* first = nullptr;
    for (const ir::Value* value : values_) {
      if (value && (!first || (first->type.dtype == boolean && value->type.dtype != boolean))) {
        first = value;
      }
    }
    return first->type.dtype;
  }

  void replace_numbers(const std::vector<Operand>& operands) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].is_number()) continue;
      const DType dtype = dtype_of_numbers();
      check_number(operands[i].number(), dtype);
      Attributes attributes = {{"dtype", dtype}, {"value", operands[i].number()}};
      values_[i] =
          program_.append(block(), "constant", {}, std::move(attributes), location_)->result();
    }
  }

  void check_number(double number, DType dtype) {
    if (is_float(dtype) || is_half(dtype)) return;  // 16-bit ones are refused by the op
    constexpr double kLimits[] = {1, 255, 2147483647.0, 9007199254740992.0};
    const double high = kLimits[static_cast<std::size_t>(dtype)];
    const double low = dtype == boolean || dtype == u8 ? 0 : -high;
    if (number == std::floor(number) && number >= low && number <= high) return;
    fail_mistake("the number " + float_text(number) + " does not fit " +
                     std::string(name_of(dtype)) + " operands",
                 "cast the operand to a floating-point type first: cast(x, f32)");
  }

  // The shape all operands are stretched to, as NumPy does: aligned at the last dimension, where
  // sizes are equal or one of them is the number 1.
  Shape common_shape() {
    Shape result;
    for (const ir::Value* value : values_) {
      const Shape& shape = value->type.shape;
      if (shape.size() > result.size()) {
        result.insert(result.begin(), shape.size() - result.size(), Dim(1));
      }
      const std::size_t offset = result.size() - shape.size();
      for (std::size_t i = 0; i < shape.size(); ++i) {
        Dim& size = result[offset + i];
        if (size == Dim(1)) size = shape[i];
        if (shape[i] == size || shape[i] == Dim(1)) continue;
        fail_mistake("the shapes do not fit: " + str(shape) + " has " + shape[i].str() + " where " +
                         "another operand has " + size.str(),
                     "sizes must be equal or 1, compared from the last dimension backwards");
      }
    }
    return result;
  }

  void broadcast_all() {
    const Shape shape = common_shape();
    for (ir::Value*& value : values_) {
      if (value->type.shape != shape) value = broadcast(value, shape);
    }
  }

  // Dimensions of size 1 that stretch are dropped by a reshape, so that `broadcast` only adds some.
  ir::Value* broadcast(ir::Value* value, const Shape& shape) {
    const Shape& from = value->type.shape;
    const std::size_t offset = shape.size() - from.size();
    Shape kept;
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] != shape[offset + i]) continue;
      kept.push_back(from[i]);
      axes.push_back(static_cast<std::int64_t>(offset + i));
    }
    if (kept != from) {
      value = program_.append(block(), "reshape", {value}, {{"shape", kept}}, location_)->result();
    }
    Attributes attributes = {{"axes", axes}, {"shape", shape}};
    return program_.append(block(), "broadcast", {value}, std::move(attributes), location_)
        ->result();
  }

  std::string_view op_;
  ir::Program& program_;
  ir::Location location_;
  const ir::OpDef* def_ = nullptr;
  std::vector<ir::Value*> values_;
};

Value emit_one(std::string_view op, const std::vector<Operand>& operands) {
  return emit(op, operands, {}, operands.front().where()).front();
}

}  // namespace

std::vector<Value> emit(std::string_view op, const std::vector<Operand>& operands,
                        Attributes attributes, const SourceLocation& where) {
  const auto known = std::find_if(operands.begin(), operands.end(),
                                  [](const Operand& operand) { return bool(operand.value()); });
  if (known == operands.end()) {
    const std::string file = where.file_name();
    fail_usage(std::string(op) +
               ": at least one operand must be a Value of a Program\n  made   at " +
               file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line()) +
               "\n  hint   a Value that was declared but never assigned counts as empty");
  }
  return Emitter(op, *known->value().get()->program, where).emit(operands, std::move(attributes));
}

Value operator+(Operand a, Operand b) { return emit_one("add", {a, b}); }
Value operator-(Operand a, Operand b) { return emit_one("sub", {a, b}); }
Value operator*(Operand a, Operand b) { return emit_one("mul", {a, b}); }
Value operator/(Operand a, Operand b) { return emit_one("div", {a, b}); }
Value operator-(Operand a) { return emit_one("neg", {a}); }
Value operator<(Operand a, Operand b) { return emit_one("less", {a, b}); }
Value operator<=(Operand a, Operand b) { return emit_one("less_equal", {a, b}); }
Value operator>(Operand a, Operand b) { return emit_one("less", {b, a}); }
Value operator>=(Operand a, Operand b) { return emit_one("less_equal", {b, a}); }

}  // namespace trireme
