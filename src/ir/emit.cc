// Names these ops: add, broadcast, div, less, less_equal, mul, neg, sub

// emit() turns an expression of the user's code into an op of the Program. It makes constants of
// numbers and broadcasts the operands of elementwise ops, so that ops need to do neither.

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/number_text.h"
#include "ir/builder.h"
#include "ir/mistake.h"

namespace trireme {
namespace {

class Emitter {
 public:
  Emitter(std::string_view op, ir::Program& program, const SourceLocation& where)
      : op_(op), builder_(program.builder()), location_(builder_.locate(where)) {}

  std::vector<Value> emit(const std::vector<Operand>& operands, Attributes attributes) {
    const ir::Builder::LocationGuard guard(builder_, location_);
    find_op(attributes);
    values_.reserve(operands.size());
    for (const Operand& operand : operands) values_.push_back(operand.value().get());
    check_owners(operands);
    if (def_ && def_->has(ir::Trait::internal)) {
      fail_emit("the op is internal: only the compiler makes it", "");
    }
    make_constants(operands);
    if (def_ && def_->has(ir::Trait::elementwise)) broadcast_all();
    const ir::Op* made = builder_.append(op_, std::move(values_), std::move(attributes));
    std::vector<Value> results;
    for (const auto& result : made->results) results.emplace_back(result.get());
    return results;
  }

 private:
  // Also by the name of the previous version.
  void find_op(Attributes& attributes) {
    const ir::OpSet& op_set = builder_.program().op_set();
    def_ = op_set.find(op_);
    if (def_ == nullptr) def_ = op_set.find_renamed(op_);
    if (def_ == nullptr) return;
    op_ = def_->name;
    ir::use_new_names(*def_, attributes);
  }

  [[noreturn]] void fail_emit(const std::string& message, const std::string& hint) {
    fail_usage(ir::describe_mistake(op_, def_, values_, location_, {message, hint}));
  }

  // Runs before constants and broadcasts are made, so that an error leaves the Program unchanged.
  void check_owners(const std::vector<Operand>& operands) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!values_[i] && !operands[i].is_number()) {
        fail_emit("operand " + ir::operand_name(def_, i) + " is an empty Value",
                  "it was declared but never given a value");
      }
      if (!values_[i] || values_[i]->program == &builder_.program()) continue;
      const bool array = !values_[i]->program->no_parameters.empty();
      fail_emit("operand " + ir::operand_name(def_, i) +
                    (array ? " is an Array, and this Program has inputs instead"
                           : " belongs to another Program"),
                array ? "add an input, and feed the array to it"
                      : "build the whole network from values of one Program");
    }
  }

  // A number takes the dtype of the first Value that is not boolean, because the first operand of
  // where(condition, x, 0.0) is a condition. If all are boolean, it is boolean.
  DType number_dtype() const {
    const ir::Value* first = nullptr;
    for (const ir::Value* value : values_) {
      if (value && (!first || (first->type.dtype == boolean && value->type.dtype != boolean))) {
        first = value;
      }
    }
    return first->type.dtype;
  }

  void make_constants(const std::vector<Operand>& operands) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].is_number()) continue;
      const DType dtype = number_dtype();
      check_number(operands[i].number(), dtype);
      values_[i] = builder_.constant({dtype, {}, ""}, operands[i].number());
    }
  }

  void check_number(double number, DType dtype) {
    if (is_float(dtype)) return;  // ops reject 16-bit floats
    // Numbers are doubles, which hold all integers up to 2^53.
    const double low = std::max(info_of(dtype).lowest_integer, info_of(f64).lowest_integer);
    const double high = std::min(info_of(dtype).highest_integer, info_of(f64).highest_integer);
    if (number == std::floor(number) && number >= low && number <= high) return;
    fail_emit("the number " + float_text(number) + " does not fit " + std::string(name_of(dtype)) +
                  " operands",
              "cast the operand to a floating-point type first: cast(x, f32)");
  }

  // Returns the shape that all operands are broadcast to. The rule is NumPy's: shapes are aligned
  // at the last dimension, where sizes are equal or one of them is the number 1.
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
        fail_emit("the shapes do not match: " + str(shape) + " has " + shape[i].str() + " where " +
                      "another operand has " + size.str(),
                  "sizes must be equal or 1, compared from the last dimension to the first");
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

  // A reshape drops dimensions of size 1 that are stretched, so that `broadcast` only adds some.
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
    if (kept != from) value = builder_.reshape(value, kept);
    return builder_.make("broadcast", {value}, {{"axes", axes}, {"shape", shape}});
  }

  std::string_view op_;
  ir::Builder& builder_;
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
  const auto first_value =
      std::find_if(operands.begin(), operands.end(),
                   [](const Operand& operand) { return bool(operand.value()); });
  if (first_value == operands.end()) {
    const std::string file = where.file_name();
    fail_usage(std::string(op) +
               ": at least one operand must be a Value of a Program\n  made   at " +
               file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line()) +
               "\n  hint   a Value that was declared but never assigned counts as empty");
  }
  return Emitter(op, *first_value->value().get()->program, where)
      .emit(operands, std::move(attributes));
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
