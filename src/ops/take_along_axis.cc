#include <algorithm>

#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> take_along_axis_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const Type& indices = c.operands[1];
  require(is_index(indices.dtype),
          "take_along_axis needs integer indices, not " + c.operand_texts[1], "cast them to i64");
  const std::size_t axis = axis_of(c.attributes, x.rank());
  Shape expected = x.shape;
  if (indices.rank() == x.rank()) expected[axis] = indices.shape[axis];
  require(indices.shape == expected,
          "take_along_axis: the shapes may differ only along axis " + std::to_string(axis) + ": " +
              c.operand_texts[0] + " and " + c.operand_texts[1],
          "to select whole rows with one index each, use gather()");
  require(x.shape[axis] != Dim(0) || product(indices.shape) == Dim(0),
          "take_along_axis from axis " + std::to_string(axis) + " of " + c.operand_texts[0] +
              ", which has no elements");
  return {Type{x.dtype, indices.shape}};
}

ExprId lower_take_along_axis(Lowering& l) {
  Builder& k = l.k();
  const Type& x = l.op().operands[0]->type;
  const std::size_t axis = axis_of(l.op().attributes, x.rank());
  const ExprId size = l.dim(x.shape[axis]);
  const ExprId place = k.cast(l.load(1, l.index()), DType::i64);
  std::vector<ExprId> source(l.index().begin(), l.index().end());
  source[axis] = k.max(k.min(place, k.sub(size, k.integer(1))), k.integer(0));
  const ExprId guard = x.shape[axis].is_constant() ? kernel_ir::kNoExpr : k.lt(k.integer(0), size);
  return l.load(0, source, guard);
}

void take_along_axis_reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  const std::size_t axis = axis_of(r.op.attributes, static_cast<int>(x.shape.size()));
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    Index source = index;
    source[axis] = std::clamp<std::int64_t>(static_cast<std::int64_t>(at(*r.operands[1], index)), 0,
                                            x.shape[axis] - 1);
    at(*r.results[0], index) = at(x, source);
  });
}

void take_along_axis_gradient_rule(GradientContext& c) {
  if (!c.needs_gradient(0)) return;
  const Value x = c.operand(0), indices = c.operand(1);
  const std::size_t axis = axis_of(c.op().attributes, x.rank());
  const Value last = dim_size(x, {.axes = {static_cast<std::int64_t>(axis)}, .dtype = DType::i64});
  const Value place = minimum(maximum(cast(indices, {.dtype = DType::i64}), 0.0), last - 1.0);
  c.accumulate(0, scatter_add_along_axis(
                      place, c.gradient(),
                      {.size = {x.shape()[axis]}, .axis = static_cast<std::int64_t>(axis)}));
}

Sample take_along_axis_sample(std::vector<std::int64_t> shape, std::vector<std::int64_t> indices,
                              std::int64_t axis, DType dtype = DType::i64, double excess = 0) {
  Sample s;
  const auto place = static_cast<std::size_t>(checked_axis(axis, static_cast<int>(shape.size())));
  const auto size = static_cast<double>(shape[place]);
  s.operands = {type_of(std::move(shape)), type_of(std::move(indices), dtype)};
  s.attributes = {{"axis", axis}};
  s.ranges = {{-2, 2}, {-excess, size + excess}};
  return s;
}

}  // namespace

Op take_along_axis() {
  Op op("take_along_axis(x, indices; axis: int = -1)");
  op.doc =
      "Elements of x by integer index along `axis`.\n"
      "result[.., i, ..] = x[.., indices[.., i, ..], ..].\n"
      "The shapes of x and `indices` may differ only along that axis.\n"
      "Indices out of range read the first or the last element, as in gather.";
  op.traits = bits(Trait::view);
  op.type = take_along_axis_type;
  op.row_wise = along_other_axes;
  op.lower = lower_take_along_axis;
  op.reference = take_along_axis_reference;
  op.gradient = take_along_axis_gradient_rule;
  op.torch_reference =
      "torch.take_along_dim(x[0], x[1].long().clamp(0, max(x[0].shape[axis] - 1, 0)), axis)";
  op.samples = {take_along_axis_sample({5, 37}, {5, 9}, 1),
                take_along_axis_sample({5, 7}, {11, 7}, 0),
                take_along_axis_sample({3, 4, 5}, {3, 2, 5}, -2),
                take_along_axis_sample({6}, {1}, 0),
                take_along_axis_sample({3, 4}, {3, 0}, 1),
                take_along_axis_sample({0, 4}, {0, 2}, 1),
                take_along_axis_sample({7, 2}, {7, 3}, 1, DType::i32),
                take_along_axis_sample({4, 5}, {4, 8}, 1, DType::i64, 3)};
  return op;
}

}  // namespace trireme::ops
