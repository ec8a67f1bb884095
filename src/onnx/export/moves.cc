// The ops that make elements and move them.

#include <algorithm>
#include <numeric>

#include "onnx/export/attributes.h"
#include "onnx/export/exporter.h"

namespace trireme::onnx {
namespace {

// --- Moving elements ---------------------------------------------------------------------------

void write_reshape(Exporter& e, const ir::Op& op) {
  e.set(op, e.reshape(e.operand(op, 0), op.result()->type.shape));
}

void write_transpose(Exporter& e, const ir::Op& op) {
  e.set(op, e.node("Transpose", {e.operand(op, 0)}, {{"perm", integers_of(op, "permutation")}}));
}

void write_broadcast(Exporter& e, const ir::Op& op) {
  const Shape& shape = op.result()->type.shape;
  Shape single(shape.size(), Dim(1));
  for (const std::int64_t axis : integers_of(op, "axes"))
    single[static_cast<std::size_t>(axis)] = shape[static_cast<std::size_t>(axis)];
  e.set(op, e.expand(e.reshape(e.operand(op, 0), single), shape));
}

void write_concat(Exporter& e, const ir::Op& op) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < op.operands.size(); ++i) parts.push_back(e.operand(op, i));
  e.set(op, e.node("Concat", parts, {{"axis", integer_of(op, "axis")}}));
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

// Puts elements between those of an axis: along an axis of its own, which is then merged.
std::string spread(Exporter& e, const std::string& x, Shape& shape, std::size_t axis,
                   std::int64_t between, const std::string& value) {
  Shape single = shape;
  single.insert(single.begin() + static_cast<std::ptrdiff_t>(axis) + 1, Dim(1));
  Integers pads(2 * single.size(), 0);
  pads[single.size() + axis + 1] = between;
  const std::string padded = e.node("Pad", {e.reshape(x, single), e.integers(pads), value});
  const Dim before = shape[axis];
  shape[axis] = before * Dim(between + 1);
  const std::string merged = e.reshape(padded, shape);
  shape[axis] = shape[axis] - Dim(between);
  return e.slice(merged, static_cast<std::int64_t>(axis), 0, -between);
}

void write_pad(Exporter& e, const ir::Op& op) {
  Shape all = get_attribute<Shape>(op.attributes, "low");
  const Shape& high = get_attribute<Shape>(op.attributes, "high");
  all.insert(all.end(), high.begin(), high.end());
  const std::string value = e.scalar(number_of(op, "value"), type_of(op, 0).dtype);
  std::string x = e.operand(op, 0);
  Shape shape = type_of(op, 0).shape;
  const Integers& interior = integers_of(op, "interior");
  for (std::size_t axis = 0; axis < interior.size(); ++axis) {
    if (interior[axis] != 0) x = spread(e, x, shape, axis, interior[axis], value);
  }
  e.set(op, e.node("Pad", {x, e.shape(all), value}));
}

void write_flip(Exporter& e, const ir::Op& op) {
  Integers axes = integers_of(op, "axes");
  for (std::int64_t& axis : axes) axis = from_front(axis, type_of(op, 0).shape.size());
  e.set(op, e.node("Slice", {e.operand(op, 0), e.integers(Integers(axes.size(), -1)),
                             e.integers(Integers(axes.size(), -kFarEnd)), e.integers(axes),
                             e.integers(Integers(axes.size(), -1))}));
}

std::string as_i64(Exporter& e, const ir::Op& op, std::size_t operand) {
  const std::string& x = e.operand(op, operand);
  return type_of(op, operand).dtype == DType::i64 ? x : e.cast(x, DType::i64);
}

// x and indices of its axis. Indices outside an axis read its ends here; ONNX refuses them. An axis
// that may have no elements gets one more, which is 0.
struct Gathered {
  std::string x, indices;
};
Gathered gathered(Exporter& e, const ir::Op& op, std::int64_t axis) {
  const ir::Type& type = type_of(op, 0);
  const Dim& size = type.shape[static_cast<std::size_t>(axis)];
  std::string last = e.node("Sub", {e.size(size), e.integers({1})});
  std::string x = e.operand(op, 0);
  if (!size.is_constant() || size == Dim(0)) {
    Integers pads(2 * type.shape.size(), 0);
    pads[type.shape.size() + static_cast<std::size_t>(axis)] = 1;
    x = e.node("Pad", {x, e.integers(pads), e.scalar(0, type.dtype)});
    last = e.node("Max", {last, e.integers({0})});
  }
  const std::string indices = e.node("Max", {as_i64(e, op, 1), e.scalar(0, DType::i64)});
  return {x, e.node("Min", {indices, e.scalar_of(last)})};
}

void write_gather(Exporter& e, const ir::Op& op) {
  const std::int64_t axis = axis_of(op);
  const Gathered g = gathered(e, op, axis);
  e.set(op, e.node("Gather", {g.x, g.indices}, {{"axis", axis}}));
}

void write_take_along_axis(Exporter& e, const ir::Op& op) {
  const std::int64_t axis = axis_of(op);
  const Gathered g = gathered(e, op, axis);
  e.set(op, e.node("GatherElements", {g.x, g.indices}, {{"axis", axis}}));
}

void write_gather_nd(Exporter& e, const ir::Op& op) {
  const std::int64_t axes = type_of(op, 1).shape.back().constant();
  const Shape& shape = type_of(op, 0).shape;
  const std::string ends = e.shape(Shape(shape.begin(), shape.begin() + axes));
  const std::string last = e.node("Sub", {ends, e.integers({1})});
  const std::string indices = e.node("Max", {as_i64(e, op, 1), e.scalar(0, DType::i64)});
  e.set(op, e.node("GatherND", {e.operand(op, 0), e.node("Min", {indices, last})}));
}

void write_constant(Exporter& e, const ir::Op& op) {
  const ir::Type& type = op.result()->type;
  e.set(op, e.filled(number_of(op, "value"), type.dtype, type.shape));
}

void write_iota(Exporter& e, const ir::Op& op) {
  const ir::Type& type = op.result()->type;
  const auto axis = static_cast<std::size_t>(from_front(integer_of(op, "axis"), type.shape.size()));
  std::string range = e.range(e.size(type.shape[axis]));
  if (type.dtype != DType::i64) range = e.cast(range, type.dtype);
  Shape single(type.shape.size(), Dim(1));
  single[axis] = type.shape[axis];
  e.set(op, e.expand(e.reshape(range, single), type.shape));
}

void write_dim_size(Exporter& e, const ir::Op& op) {
  Dim total(1);
  for (const std::int64_t axis : reduced_axes(op))
    total = total * type_of(op, 0).shape[static_cast<std::size_t>(axis)];
  const std::string size = e.scalar_of(e.size(total));
  const DType dtype = op.result()->type.dtype;
  e.set(op, dtype == DType::i64 ? size : e.cast(size, dtype));
}

constexpr ExportedOp kMoves[] = {
    {"broadcast", write_broadcast},
    {"concat", write_concat},
    {"constant", write_constant},
    {"dim_size", write_dim_size},
    {"flip", write_flip},
    {"gather", write_gather},
    {"gather_nd", write_gather_nd},
    {"iota", write_iota},
    {"pad", write_pad},
    {"reshape", write_reshape},
    {"slice", write_slice},
    {"take_along_axis", write_take_along_axis},
    {"transpose", write_transpose},
};

}  // namespace

std::span<const ExportedOp> exported_moves() { return kMoves; }

}  // namespace trireme::onnx
