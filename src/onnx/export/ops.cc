// The ops that compute element by element, reduce, multiply, and move elements.

#include <algorithm>
#include <map>
#include <numeric>

#include "base/attributes.h"
#include "onnx/export/exporter.h"
#include "onnx/tensor.h"

namespace trireme::onnx {
namespace {

using Integers = std::vector<std::int64_t>;
constexpr std::int64_t kFarEnd = std::int64_t{1} << 62;

const Integers& integers_of(const ir::Op& op, const char* name) {
  return get_attribute<Integers>(op.attributes, name);
}

bool flag(const ir::Op& op, const char* name) { return get_attribute<bool>(op.attributes, name); }

const ir::Type& type_of(const ir::Op& op, std::size_t operand) {
  return op.operands[operand]->type;
}

std::int64_t from_front(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

// The axes of a reduction; all without a list.
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

std::string with_permutation(Exporter& e, const std::string& x, const Integers& order) {
  return e.node("Transpose", {x}, {{"perm", order}});
}

// --- Elements ----------------------------------------------------------------------------------

// ONNX names of ops that have the same operands and meaning.
const std::map<std::string_view, const char*>& same_ops() {
  static const std::map<std::string_view, const char*> names = {{"abs", "Abs"},
                                                                {"add", "Add"},
                                                                {"atan", "Atan"},
                                                                {"bitwise_and", "BitwiseAnd"},
                                                                {"bitwise_not", "BitwiseNot"},
                                                                {"bitwise_or", "BitwiseOr"},
                                                                {"bitwise_xor", "BitwiseXor"},
                                                                {"ceil", "Ceil"},
                                                                {"copy", "Identity"},
                                                                {"cos", "Cos"},
                                                                {"div", "Div"},
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
                                                                {"gather_nd", "GatherND"}};
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
void write_expm1(Exporter& e, const ir::Op& op) {
  e.set(op, e.node("Sub", {e.node("Exp", {e.operand(op, 0)}), e.scalar(1, type_of(op, 0).dtype)}));
}
void write_log1p(Exporter& e, const ir::Op& op) {
  e.set(op, e.node("Log", {e.node("Add", {e.operand(op, 0), e.scalar(1, type_of(op, 0).dtype)})}));
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
void write_cast(Exporter& e, const ir::Op& op) {
  e.set(op, e.cast(e.operand(op, 0), op.result()->type.dtype));
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

void write_arg(Exporter& e, const ir::Op& op, const char* type) {
  const Integers axes = reduced_axes(op);
  if (axes.size() != 1) throw NotExported{"it has several axes"};
  e.set(op, e.node(type, {e.operand(op, 0)},
                   {{"axis", axes[0]}, {"keepdims", std::int64_t{flag(op, "keep")}}}));
}
void write_argmax(Exporter& e, const ir::Op& op) { write_arg(e, op, "ArgMax"); }
void write_argmin(Exporter& e, const ir::Op& op) { write_arg(e, op, "ArgMin"); }

// --- Products ----------------------------------------------------------------------------------

void write_matmul(Exporter& e, const ir::Op& op) {
  std::vector<std::string> inputs;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    std::string x = e.operand(op, i);
    if (flag(op, i == 0 ? "transpose_a" : "transpose_b")) {
      Integers order(type_of(op, i).shape.size());
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      x = with_permutation(e, x, order);
    }
    inputs.push_back(x);
  }
  e.set(op, e.node("MatMul", inputs));
}

// top, bottom, left, right as top, left, bottom, right.
Integers pads_of(const ir::Op& op) {
  const Integers& padding = integers_of(op, "padding");
  Integers before, after;
  for (std::size_t i = 0; i < padding.size(); i += 2) {
    before.push_back(padding[i]);
    after.push_back(padding[i + 1]);
  }
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

void require_channels_first(const ir::Op& op) {
  if (get_attribute<std::string>(op.attributes, "layout") != "nchw")
    throw NotExported{"its channels are last"};
}

void write_conv(Exporter& e, const ir::Op& op) {
  require_channels_first(op);
  e.set(op, e.node("Conv", {e.operand(op, 0), e.operand(op, 1)},
                   {{"strides", integers_of(op, "stride")},
                    {"pads", pads_of(op)},
                    {"dilations", integers_of(op, "dilation")},
                    {"group", get_attribute<std::int64_t>(op.attributes, "groups")}}));
}

void write_max_pool(Exporter& e, const ir::Op& op) {
  require_channels_first(op);
  e.set(op, e.node("MaxPool", {e.operand(op, 0)},
                   {{"kernel_shape", integers_of(op, "kernel")},
                    {"strides", integers_of(op, "stride")},
                    {"pads", pads_of(op)}}));
}

void write_avg_pool(Exporter& e, const ir::Op& op) {
  require_channels_first(op);
  e.set(op, e.node("AveragePool", {e.operand(op, 0)},
                   {{"kernel_shape", integers_of(op, "kernel")},
                    {"strides", integers_of(op, "stride")},
                    {"pads", pads_of(op)},
                    {"count_include_pad", std::int64_t{flag(op, "count_include_pad")}}}));
}

// --- Moving elements ---------------------------------------------------------------------------

void write_reshape(Exporter& e, const ir::Op& op) {
  e.set(op, e.node("Reshape", {e.operand(op, 0), e.shape(op.result()->type.shape)},
                   {{"allowzero", std::int64_t{1}}}));
}

void write_transpose(Exporter& e, const ir::Op& op) {
  e.set(op, with_permutation(e, e.operand(op, 0), integers_of(op, "permutation")));
}

void write_broadcast(Exporter& e, const ir::Op& op) {
  const Shape& shape = op.result()->type.shape;
  Shape single(shape.size(), Dim(1));
  for (const std::int64_t axis : integers_of(op, "axes"))
    single[static_cast<std::size_t>(axis)] = shape[static_cast<std::size_t>(axis)];
  const std::string x =
      e.node("Reshape", {e.operand(op, 0), e.shape(single)}, {{"allowzero", std::int64_t{1}}});
  e.set(op, e.node("Expand", {x, e.shape(shape)}));
}

void write_concat(Exporter& e, const ir::Op& op) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < op.operands.size(); ++i) parts.push_back(e.operand(op, i));
  e.set(op,
        e.node("Concat", parts, {{"axis", get_attribute<std::int64_t>(op.attributes, "axis")}}));
}

void write_slice(Exporter& e, const ir::Op& op) {
  const Shape& starts = get_attribute<Shape>(op.attributes, "starts");
  Shape limits = get_attribute<Shape>(op.attributes, "limits");
  for (Dim& limit : limits) {
    if (limit == Dim(-1)) limit = Dim(kFarEnd - 1);
  }
  Integers axes(starts.size()), strides = integers_of(op, "strides");
  std::iota(axes.begin(), axes.end(), 0);
  if (strides.empty()) strides.assign(starts.size(), 1);
  e.set(op, e.node("Slice", {e.operand(op, 0), e.shape(starts), e.shape(limits), e.integers(axes),
                             e.integers(strides)}));
}

void write_pad(Exporter& e, const ir::Op& op) {
  const Integers& interior = integers_of(op, "interior");
  if (std::any_of(interior.begin(), interior.end(), [](std::int64_t i) { return i != 0; }))
    throw NotExported{"it adds elements between others"};
  Shape all = get_attribute<Shape>(op.attributes, "low");
  const Shape& high = get_attribute<Shape>(op.attributes, "high");
  all.insert(all.end(), high.begin(), high.end());
  e.set(op, e.node("Pad", {e.operand(op, 0), e.shape(all),
                           e.scalar(get_attribute<double>(op.attributes, "value"),
                                    type_of(op, 0).dtype)}));
}

void write_flip(Exporter& e, const ir::Op& op) {
  Integers axes = integers_of(op, "axes");
  for (std::int64_t& axis : axes) axis = from_front(axis, type_of(op, 0).shape.size());
  e.set(op, e.node("Slice", {e.operand(op, 0), e.integers(Integers(axes.size(), -1)),
                             e.integers(Integers(axes.size(), -kFarEnd)), e.integers(axes),
                             e.integers(Integers(axes.size(), -1))}));
}

// Indices outside an axis read its ends here; ONNX refuses them.
std::string bounded_indices(Exporter& e, const ir::Op& op, std::int64_t axis) {
  const DType dtype = type_of(op, 1).dtype;
  std::string indices =
      dtype == DType::i64 ? e.operand(op, 1) : e.cast(e.operand(op, 1), DType::i64);
  const std::string last = e.node(
      "Sub", {e.size(type_of(op, 0).shape[static_cast<std::size_t>(axis)]), e.integers({1})});
  indices = e.node("Max", {indices, e.scalar(0, DType::i64)});
  return e.node("Min", {indices, e.node("Squeeze", {last})});
}

void write_gather(Exporter& e, const ir::Op& op) {
  const std::int64_t axis =
      from_front(get_attribute<std::int64_t>(op.attributes, "axis"), type_of(op, 0).shape.size());
  e.set(op, e.node("Gather", {e.operand(op, 0), bounded_indices(e, op, axis)}, {{"axis", axis}}));
}

void write_take_along_axis(Exporter& e, const ir::Op& op) {
  const std::int64_t axis =
      from_front(get_attribute<std::int64_t>(op.attributes, "axis"), type_of(op, 0).shape.size());
  e.set(op, e.node("GatherElements", {e.operand(op, 0), bounded_indices(e, op, axis)},
                   {{"axis", axis}}));
}

void write_constant(Exporter& e, const ir::Op& op) {
  const ir::Type& type = op.result()->type;
  const std::string number = e.scalar(get_attribute<double>(op.attributes, "value"), type.dtype);
  e.set(op, type.shape.empty() ? number : e.node("Expand", {number, e.shape(type.shape)}));
}

void write_iota(Exporter& e, const ir::Op& op) {
  const ir::Type& type = op.result()->type;
  const auto axis = static_cast<std::size_t>(
      from_front(get_attribute<std::int64_t>(op.attributes, "axis"), type.shape.size()));
  std::string range =
      e.node("Range", {e.scalar(0, DType::i64), e.node("Squeeze", {e.size(type.shape[axis])}),
                       e.scalar(1, DType::i64)});
  if (type.dtype != DType::i64) range = e.cast(range, type.dtype);
  Shape single(type.shape.size(), Dim(1));
  single[axis] = type.shape[axis];
  e.set(op, e.node("Expand", {e.node("Reshape", {range, e.shape(single)}), e.shape(type.shape)}));
}

void write_dim_size(Exporter& e, const ir::Op& op) {
  Dim total(1);
  for (const std::int64_t axis : reduced_axes(op))
    total = total * type_of(op, 0).shape[static_cast<std::size_t>(axis)];
  const std::string size = e.node("Squeeze", {e.size(total)});
  const DType dtype = op.result()->type.dtype;
  e.set(op, dtype == DType::i64 ? size : e.cast(size, dtype));
}

constexpr ExportedOp kExportedOps[] = {
    {"argmax", write_argmax},
    {"argmin", write_argmin},
    {"avg_pool", write_avg_pool},
    {"broadcast", write_broadcast},
    {"cast", write_cast},
    {"check_finite", write_first},
    {"check_indices", write_first},
    {"concat", write_concat},
    {"constant", write_constant},
    {"conv2d", write_conv},
    {"conv3d", write_conv},
    {"dim_size", write_dim_size},
    {"erfc", write_erfc},
    {"expm1", write_expm1},
    {"flip", write_flip},
    {"gather", write_gather},
    {"iota", write_iota},
    {"is_finite", write_is_finite},
    {"log1p", write_log1p},
    {"matmul", write_matmul},
    {"max_pool", write_max_pool},
    {"mean", write_mean},
    {"not_equal", write_not_equal},
    {"pad", write_pad},
    {"prod", write_prod},
    {"reduce_max", write_reduce_max},
    {"reduce_min", write_reduce_min},
    {"reshape", write_reshape},
    {"rsqrt", write_rsqrt},
    {"slice", write_slice},
    {"sum", write_sum},
    {"take_along_axis", write_take_along_axis},
    {"transpose", write_transpose},
};

}  // namespace

const ExportedOp* find_exported(std::string_view name) {
  static constexpr ExportedOp kSame{"", write_same};
  if (same_ops().contains(name)) return &kSame;
  const auto* found = std::find_if(std::begin(kExportedOps), std::end(kExportedOps),
                                   [&](const ExportedOp& op) { return op.name == name; });
  return found == std::end(kExportedOps) ? nullptr : found;
}

}  // namespace trireme::onnx
