#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> concat_type(const TypeContext& c) {
  require(!c.operands.empty(), "concat needs at least one value");
  Type result = c.operands[0];
  require(result.rank() > 0, "concat needs an axis, but " + c.operand_texts[0] + " is a scalar",
          "reshape the scalars to [1] first");
  const std::size_t axis = axis_of(c.attributes, result.rank());
  for (std::size_t i = 1; i < c.operands.size(); ++i) {
    Type other = c.operands[i];
    const std::string pair = c.operand_texts[0] + " and " + c.operand_texts[i];
    require(other.dtype == result.dtype && other.rank() == result.rank(),
            "concat of " + pair + ": dtype and rank must be equal");
    const Dim size = other.shape[axis];
    other.shape[axis] = result.shape[axis];
    require(other.shape == result.shape, "concat of " + pair + " along axis " +
                                             std::to_string(axis) +
                                             ": all other dimensions must be equal");
    result.shape[axis] = result.shape[axis] + size;
  }
  return {result};
}

// Selects from the last operand to the first: index < end ? this operand : the later ones.
ExprId lower_concat(Lowering& l) {
  Builder& k = l.k();
  const std::size_t axis = axis_of(l.op().attributes, l.op().result()->type.rank());
  const auto count = static_cast<int>(l.op().operands.size());
  std::vector<Dim> starts{0};
  for (const ir::Value* x : l.op().operands) starts.push_back(starts.back() + x->type.shape[axis]);
  ExprId result = kernel_ir::kNoExpr;
  std::vector<ExprId> index(l.index().begin(), l.index().end());
  const ExprId place = index[axis];
  for (int i = count - 1; i >= 0; --i) {
    const ExprId start = l.dim(starts[static_cast<std::size_t>(i)]);
    const ExprId end = l.dim(starts[static_cast<std::size_t>(i) + 1]);
    ExprId guard = i + 1 < count ? k.lt(place, end) : kernel_ir::kNoExpr;
    const ExprId before_end = guard;
    if (i > 0) {
      const ExprId from = k.le(start, place);
      guard = guard == kernel_ir::kNoExpr ? from : k.logical_and(guard, from);
    }
    index[axis] = k.sub(place, start);
    const ExprId value = l.load(i, index, guard);
    result = i + 1 < count ? k.select(before_end, value, result) : value;
  }
  return result;
}

void concat_reference(const Reference& r) {
  const std::size_t axis = axis_of(r.op.attributes, r.op.result()->type.rank());
  std::int64_t start = 0;
  for (const RefTensor* x : r.operands) {
    for_each_index(x->shape, [&](const Index& index) {
      Index target = index;
      target[axis] += start;
      at(*r.results[0], target) = at(*x, index);
    });
    start += x->shape[axis];
  }
}

void concat_gradient_rule(GradientContext& c) {
  const std::size_t axis = axis_of(c.op().attributes, c.op().result()->type.rank());
  SliceAttrs part;
  part.starts.assign(static_cast<std::size_t>(c.result().rank()), 0);
  part.limits = c.result().shape();
  Dim start = 0;
  for (int i = 0; i < static_cast<int>(c.op().operands.size()); ++i) {
    part.starts[axis] = start;
    start = start + c.operand(i).shape()[axis];
    part.limits[axis] = start;
    if (c.needs_gradient(i)) c.accumulate(i, slice(c.gradient(), part));
  }
}

Sample concat_sample(std::vector<std::vector<std::int64_t>> shapes, std::int64_t axis) {
  Sample s;
  for (auto& shape : shapes) s.operands.push_back(type_of(std::move(shape)));
  s.attributes = {{"axis", axis}};
  return s;
}

}  // namespace

Op concat() {
  Op op("concat(xs...; axis: int = -1)");
  op.doc = "Joins values of one dtype and rank along `axis`; all other dimensions must be equal.";
  op.traits = bits(Trait::view);
  op.type = concat_type;
  op.row_wise = along_other_axes;
  op.lower = lower_concat;
  op.reference = concat_reference;
  op.gradient = concat_gradient_rule;
  op.torch_reference = "torch.cat(list(x), dim=axis)";
  op.samples = {
      concat_sample({{5, 3}, {5, 37}}, 1),        concat_sample({{2, 3}, {1, 3}, {4, 3}}, 0),
      concat_sample({{2, 3, 4}, {2, 1, 4}}, -2),  concat_sample({{3}}, 0),
      concat_sample({{0, 3}, {2, 3}, {0, 3}}, 0), concat_sample({{0, 3}, {0, 2}}, 1)};
  return op;
}

}  // namespace trireme::ops
