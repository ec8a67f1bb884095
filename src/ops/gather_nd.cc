#include <algorithm>

#include "ops/index.h"

namespace trireme::ops {
namespace {

// Returns how many of the first axes of x one tuple of indices covers.
std::size_t tuple_size(const Type& indices) {
  return static_cast<std::size_t>(indices.shape.back().constant());
}

std::vector<Type> gather_nd_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const Type& indices = c.operands[1];
  require(is_index(indices.dtype), "gather_nd needs integer indices, not " + c.operand_texts[1],
          "cast them to i64");
  require(
      indices.rank() > 0 && indices.shape.back().is_constant() &&
          indices.shape.back().constant() <= x.rank(),
      "gather_nd: the last axis of the indices must hold one index for each of the first axes of " +
          c.operand_texts[0] + ", but they are " + c.operand_texts[1]);
  const auto named = static_cast<std::ptrdiff_t>(tuple_size(indices));
  Type result{x.dtype, Shape(indices.shape.begin(), indices.shape.end() - 1), ""};
  const bool none = product(result.shape) == Dim(0);
  for (auto size = x.shape.begin(); size != x.shape.begin() + named; ++size) {
    require(none || *size != Dim(0), "gather_nd from " + c.operand_texts[0] + ", which is empty");
  }
  result.shape.insert(result.shape.end(), x.shape.begin() + named, x.shape.end());
  return {result};
}

ExprId lower_gather_nd(Lowering& l) {
  Builder& k = l.k();
  const Type& x = l.op().operands[0]->type;
  const Type& indices = l.op().operands[1]->type;
  const auto front = static_cast<std::size_t>(indices.rank() - 1);
  std::vector<ExprId> place(l.index().begin(),
                            l.index().begin() + static_cast<std::ptrdiff_t>(front));
  place.push_back(kernel_ir::kNoExpr);
  std::vector<ExprId> source;
  ExprId guard = kernel_ir::kNoExpr;
  for (std::size_t i = 0; i < tuple_size(indices); ++i) {
    place.back() = k.integer(static_cast<std::int64_t>(i));
    const ExprId size = l.dim(x.shape[i]);
    const ExprId index = k.cast(l.load(1, place), DType::i64);
    source.push_back(k.max(k.min(index, k.sub(size, k.integer(1))), k.integer(0)));
    if (x.shape[i].is_constant()) continue;
    const ExprId not_empty = k.lt(k.integer(0), size);
    guard = guard == kernel_ir::kNoExpr ? not_empty : k.logical_and(guard, not_empty);
  }
  const auto rest = l.index().subspan(front);
  source.insert(source.end(), rest.begin(), rest.end());
  return l.load(0, source, guard);
}

void gather_nd_reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  const RefTensor& indices = *r.operands[1];
  const auto front = static_cast<std::ptrdiff_t>(indices.shape.size()) - 1;
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    Index place(index.begin(), index.begin() + front);
    place.push_back(0);
    Index source;
    for (; place.back() < indices.shape.back(); ++place.back()) {
      source.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(at(indices, place)), 0,
                                                x.shape[source.size()] - 1));
    }
    source.insert(source.end(), index.begin() + front, index.end());
    at(*r.results[0], index) = at(x, source);
  });
}

// Clamps the indices, as reading them does.
void gather_nd_gradient_rule(GradientContext& c) {
  if (!c.needs_gradient(0)) return;
  const Value x = c.operand(0);
  const Value indices = cast(c.operand(1), {.dtype = DType::i64});
  const auto count = static_cast<std::int64_t>(tuple_size(indices.get()->type));
  if (count == 0) {
    c.accumulate(0, scatter_add_nd(indices, c.gradient(), {.shape = x.shape()}));
    return;
  }
  std::vector<Value> places;
  for (std::int64_t i = 0; i < count; ++i) {
    SliceAttrs part;
    part.starts.assign(static_cast<std::size_t>(indices.rank()), 0);
    part.limits.assign(static_cast<std::size_t>(indices.rank()), -1);
    part.starts.back() = i, part.limits.back() = i + 1;
    const Value size = dim_size(x, {.axes = {i}, .dtype = DType::i64});
    places.push_back(minimum(maximum(slice(indices, part), 0.0), size - 1.0));
  }
  const Value clamped = places.size() == 1 ? places[0] : concat(places, {.axis = -1});
  c.accumulate(0, scatter_add_nd(clamped, c.gradient(), {.shape = x.shape()}));
}

Sample gather_nd_sample(std::vector<std::int64_t> shape, std::vector<std::int64_t> indices,
                        double low, double high, DType dtype = DType::i64) {
  Sample s;
  s.operands = {type_of(std::move(shape)), type_of(std::move(indices), dtype)};
  s.ranges = {{-2, 2}, {low, high}};
  return s;
}

}  // namespace

Op gather_nd() {
  Op op("gather_nd(x, indices)");
  op.doc =
      "Parts of x by tuples of integer indices.\n"
      "The last axis of `indices` has a constant size n and holds one index for each of the "
      "first n axes.\n"
      "The result has the other axes of `indices`, followed by the other axes of x.\n"
      "Indices out of range read the first or the last position, as in gather.";
  op.traits = bits(Trait::view);
  op.type = gather_nd_type;
  op.lower = lower_gather_nd;
  op.reference = gather_nd_reference;
  op.gradient = gather_nd_gradient_rule;
  op.torch_reference =
      "(lambda i: x[0][tuple(i[..., j].clamp(0, x[0].shape[j] - 1) for j in range(i.shape[-1]))] "
      "if i.shape[-1] else x[0].expand(i.shape[:-1] + x[0].shape))(x[1].long())";
  op.samples = {gather_nd_sample({5, 7, 3}, {9, 2}, 0, 5),
                gather_nd_sample({5, 7}, {2, 3, 1}, 0, 5),
                gather_nd_sample({4, 3, 5}, {6, 3}, 0, 3),
                gather_nd_sample({6, 5}, {2}, 0, 5),
                gather_nd_sample({3, 4}, {2, 0}, 0, 1),
                gather_nd_sample({3, 4}, {0, 2}, 0, 3),
                gather_nd_sample({7, 2}, {4, 2}, 0, 2, DType::i32),
                gather_nd_sample({3, 5}, {8, 2}, -2, 7)};
  return op;
}

}  // namespace trireme::ops
