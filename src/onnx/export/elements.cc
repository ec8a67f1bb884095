// The ops that compute element by element, and reductions.

#include <map>
#include <numeric>

#include "onnx/export/attributes.h"
#include "onnx/export/exporter.h"

namespace trireme::onnx {

Integers reduced_axes(const ir::Op& op) {
  Integers axes = integers_of(op, "axes");
  const std::size_t rank = type_of(op, 0).shape.size();
  for (std::int64_t& axis : axes) axis = from_front(axis, rank);
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

namespace {

// --- Elements ----------------------------------------------------------------------------------

// ONNX names of ops that have the same operands and meaning.
const std::map<std::string_view, const char*>& same_ops() {
  static const std::map<std::string_view, const char*> names = {
      {"abs", "Abs"},
      {"add", "Add"},
      {"atan", "Atan"},
      {"bitwise_and", "BitwiseAnd"},
      {"bitwise_not", "BitwiseNot"},
      {"bitwise_or", "BitwiseOr"},
      {"bitwise_xor", "BitwiseXor"},
      {"ceil", "Ceil"},
      {"copy", "Identity"},
      {"cos", "Cos"},
      {"equal", "Equal"},
      {"erf", "Erf"},
      {"exp", "Exp"},
      {"floor", "Floor"},
      {"is_nan", "IsNaN"},
      {"less", "Less"},
      {"less_equal", "LessOrEqual"},
      {"log", "Log"},
      {"log1p_exp", "Softplus"},
      {"logical_and", "And"},
      {"logical_not", "Not"},
      {"logical_or", "Or"},
      {"maximum", "Max"},
      {"minimum", "Min"},
      {"mul", "Mul"},
      {"neg", "Neg"},
      {"pow", "Pow"},
      {"round", "Round"},
      {"sigmoid", "Sigmoid"},
      {"sign", "Sign"},
      {"sin", "Sin"},
      {"sqrt", "Sqrt"},
      {"stop_gradient", "Identity"},
      {"sub", "Sub"},
      {"tan", "Tan"},
      {"tanh", "Tanh"},
      {"where", "Where"},
  };
  return names;
}

void write_same(Exporter& e, const ir::Op& op) {
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < op.operands.size(); ++i) inputs.push_back(e.operand(op, i));
  e.set(op, e.node(same_ops().at(op.name()), inputs));
}

// What the op checks is not checked by other engines.
void write_first(Exporter& e, const ir::Op& op) { e.set(op, e.operand(op, 0)); }

void write_rsqrt(Exporter& e, const ir::Op& op) {
  e.set(op, e.node("Reciprocal", {e.node("Sqrt", {e.operand(op, 0)})}));
}
// ONNX has neither. Near 0, the error of u = exp(x) or 1 + x is divided out: Kahan, in Higham 2002,
// "Accuracy and Stability of Numerical Algorithms", section 1.14.1.
void write_expm1(Exporter& e, const ir::Op& op) {
  const std::string& x = e.operand(op, 0);
  const auto number = [&](double value) { return e.scalar(value, type_of(op, 0).dtype); };
  const std::string u = e.node("Exp", {x});
  const std::string less = e.node("Sub", {u, number(1)});
  const std::string near =
      e.node("Where", {e.node("Equal", {less, number(0)}), x,
                       e.node("Mul", {less, e.node("Div", {x, e.node("Log", {u})})})});
  const std::string is_far = e.node("Greater", {e.node("Abs", {x}), number(1)});
  e.set(op, e.node("Where", {is_far, less, near}));
}
void write_log1p(Exporter& e, const ir::Op& op) {
  const std::string& x = e.operand(op, 0);
  const auto number = [&](double value) { return e.scalar(value, type_of(op, 0).dtype); };
  const std::string u = e.node("Add", {x, number(1)});
  const std::string log_u = e.node("Log", {u});
  const std::string less = e.node("Sub", {u, number(1)});
  const std::string near = e.node("Where", {e.node("Equal", {less, number(0)}), x,
                                            e.node("Mul", {log_u, e.node("Div", {x, less})})});
  e.set(op, e.node("Where", {e.node("Greater", {x, number(1)}), log_u, near}));
}
void write_erfc(Exporter& e, const ir::Op& op) {
  e.set(op, e.node("Sub", {e.scalar(1, type_of(op, 0).dtype), e.node("Erf", {e.operand(op, 0)})}));
}
void write_not_equal(Exporter& e, const ir::Op& op) {
  e.set(op, e.node("Not", {e.node("Equal", {e.operand(op, 0), e.operand(op, 1)})}));
}
void write_is_finite(Exporter& e, const ir::Op& op) {
  const std::string& x = e.operand(op, 0);
  e.set(op, e.node("Not", {e.node("Or", {e.node("IsNaN", {x}), e.node("IsInf", {x})})}));
}
// Integers: a quotient by 0 is 0 here, and stops other engines.
std::string safe_divisor(Exporter& e, const ir::Op& op) {
  const DType dtype = type_of(op, 1).dtype;
  const std::string& b = e.operand(op, 1);
  return e.node("Where", {e.node("Equal", {b, e.scalar(0, dtype)}), e.scalar(1, dtype), b});
}

void write_integer_division(Exporter& e, const ir::Op& op, const char* type) {
  const DType dtype = type_of(op, 1).dtype;
  const std::string result = e.node(type, {e.operand(op, 0), safe_divisor(e, op)});
  const std::string is_zero = e.node("Equal", {e.operand(op, 1), e.scalar(0, dtype)});
  e.set(op, e.node("Where", {is_zero, e.scalar(0, dtype), result}));
}

void write_div(Exporter& e, const ir::Op& op) {
  if (!is_float(type_of(op, 0).dtype)) return write_integer_division(e, op, "Div");
  e.set(op, e.node("Div", {e.operand(op, 0), e.operand(op, 1)}));
}

void write_floor_mod(Exporter& e, const ir::Op& op) {
  if (!is_float(type_of(op, 0).dtype)) return write_integer_division(e, op, "Mod");
  const std::string& a = e.operand(op, 0);
  const std::string& b = e.operand(op, 1);
  e.set(op, e.node("Sub", {a, e.node("Mul", {b, e.node("Floor", {e.node("Div", {a, b})})})}));
}

// The angle of y / x, moved by pi where x is negative; pi/2 with the sign of y where x is 0.
void write_atan2(Exporter& e, const ir::Op& op) {
  constexpr double kPi = 3.141592653589793238;
  const DType dtype = type_of(op, 0).dtype;
  const auto number = [&](double x) { return e.scalar(x, dtype); };
  const std::string& y = e.operand(op, 0);
  const std::string& x = e.operand(op, 1);
  const std::string angle = e.node("Atan", {e.node("Div", {y, x})});
  const std::string below = e.node("Less", {y, number(0)});
  const std::string turn = e.node("Where", {below, number(-kPi), number(kPi)});
  const std::string on_axis = e.node("Mul", {e.node("Sign", {y}), number(kPi / 2)});
  const std::string left =
      e.node("Where", {e.node("Less", {x, number(0)}), e.node("Add", {angle, turn}), angle});
  e.set(op, e.node("Where", {e.node("Equal", {x, number(0)}), on_axis, left}));
}

// The model is for inference.
void write_when_training(Exporter& e, const ir::Op& op) { e.set(op, e.operand(op, 1)); }

// ONNX does not define casts of floats that are out of range. Bytes of quantized models are
// clipped; other integers are not, since f32 has no number for the largest ones.
void write_cast(Exporter& e, const ir::Op& op) {
  const DType from = type_of(op, 0).dtype, to = op.result()->type.dtype;
  std::string x = e.operand(op, 0);
  if (is_arithmetic_float(from) && (to == DType::u8 || to == DType::i8)) {
    const bool is_signed = to == DType::i8;
    x = e.node("Clip",
               {x, e.scalar(is_signed ? -128 : 0, from), e.scalar(is_signed ? 127 : 255, from)});
  }
  e.set(op, e.cast(x, to));
}

// --- Reductions --------------------------------------------------------------------------------

void write_reduction(Exporter& e, const ir::Op& op, const char* type) {
  const NodeAttributes keep = {{"keepdims", std::int64_t{flag(op, "keep")}}};
  const Integers axes = reduced_axes(op);
  if (axes.empty()) return e.set(op, e.node("Identity", {e.operand(op, 0)}));
  e.set(op, e.node(type, {e.operand(op, 0), e.integers(axes)}, keep));
}
void write_sum(Exporter& e, const ir::Op& op) { write_reduction(e, op, "ReduceSum"); }
void write_mean(Exporter& e, const ir::Op& op) { write_reduction(e, op, "ReduceMean"); }
void write_prod(Exporter& e, const ir::Op& op) { write_reduction(e, op, "ReduceProd"); }
void write_reduce_max(Exporter& e, const ir::Op& op) { write_reduction(e, op, "ReduceMax"); }
void write_reduce_min(Exporter& e, const ir::Op& op) { write_reduction(e, op, "ReduceMin"); }

// Counts the elements that are true, because an axis without elements has no maximum.
std::string counted_true(Exporter& e, const ir::Op& op, const std::string& x) {
  const Integers axes = reduced_axes(op);
  const std::string numbers = e.cast(x, DType::i64);
  if (axes.empty()) return numbers;
  return e.node("ReduceSum", {numbers, e.integers(axes)},
                {{"keepdims", std::int64_t{flag(op, "keep")}}});
}
void write_any(Exporter& e, const ir::Op& op) {
  e.set(op, e.cast(counted_true(e, op, e.operand(op, 0)), DType::boolean));
}
void write_all(Exporter& e, const ir::Op& op) {
  const std::string count = counted_true(e, op, e.node("Not", {e.operand(op, 0)}));
  e.set(op, e.node("Equal", {count, e.scalar(0, DType::i64)}));
}

void write_arg(Exporter& e, const ir::Op& op, const char* type) {
  const Integers axes = reduced_axes(op);
  if (axes.size() != 1) throw NotExported{"it has several axes"};
  e.set(op, e.node(type, {e.operand(op, 0)},
                   {{"axis", axes[0]}, {"keepdims", std::int64_t{flag(op, "keep")}}}));
}
void write_argmax(Exporter& e, const ir::Op& op) { write_arg(e, op, "ArgMax"); }
void write_argmin(Exporter& e, const ir::Op& op) { write_arg(e, op, "ArgMin"); }

constexpr ExportedOp kElements[] = {
    {"abs", write_same},
    {"add", write_same},
    {"all", write_all},
    {"any", write_any},
    {"argmax", write_argmax},
    {"argmin", write_argmin},
    {"atan", write_same},
    {"atan2", write_atan2},
    {"bitwise_and", write_same},
    {"bitwise_not", write_same},
    {"bitwise_or", write_same},
    {"bitwise_xor", write_same},
    {"cast", write_cast},
    {"ceil", write_same},
    {"check_finite", write_first},
    {"check_indices", write_first},
    {"copy", write_same},
    {"cos", write_same},
    {"div", write_div},
    {"equal", write_same},
    {"erf", write_same},
    {"erfc", write_erfc},
    {"exp", write_same},
    {"expm1", write_expm1},
    {"floor", write_same},
    {"floor_mod", write_floor_mod},
    {"is_finite", write_is_finite},
    {"is_nan", write_same},
    {"less", write_same},
    {"less_equal", write_same},
    {"log", write_same},
    {"log1p", write_log1p},
    {"log1p_exp", write_same},
    {"logical_and", write_same},
    {"logical_not", write_same},
    {"logical_or", write_same},
    {"maximum", write_same},
    {"mean", write_mean},
    {"minimum", write_same},
    {"mul", write_same},
    {"neg", write_same},
    {"not_equal", write_not_equal},
    {"pow", write_same},
    {"prod", write_prod},
    {"reduce_max", write_reduce_max},
    {"reduce_min", write_reduce_min},
    {"round", write_same},
    {"rsqrt", write_rsqrt},
    {"sigmoid", write_same},
    {"sign", write_same},
    {"sin", write_same},
    {"sqrt", write_same},
    {"stop_gradient", write_same},
    {"sub", write_same},
    {"sum", write_sum},
    {"tan", write_same},
    {"tanh", write_same},
    {"when_training", write_when_training},
    {"where", write_same},
};

}  // namespace

std::span<const ExportedOp> exported_elements() { return kElements; }

}  // namespace trireme::onnx
