#include <algorithm>
#include <numeric>

#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> gather_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const Type& indices = c.operands[1];
  require(x.rank() > 0, "gather needs an axis, but " + c.operand_texts[0] + " is a scalar");
  require(is_index(indices.dtype), "gather needs integer indices, not " + c.operand_texts[1],
          "cast them to i64");
  const std::size_t axis = axis_of(c.attributes, x.rank());
  require(
      axis == 0 || !get_attribute<bool>(c.attributes, "sparse_gradient"),
      "gather supports sparse_gradient along axis 0 only, not along axis " + std::to_string(axis));
  require(x.shape[axis] != Dim(0) || product(indices.shape) == Dim(0),
          "gather from axis " + std::to_string(axis) + " of " + c.operand_texts[0] +
              ", which has no rows");
  const auto place = x.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  Type result{x.dtype, Shape(x.shape.begin(), place)};
  result.shape.insert(result.shape.end(), indices.shape.begin(), indices.shape.end());
  result.shape.insert(result.shape.end(), place + 1, x.shape.end());
  return {result};
}

bool is_first_axis(const ir::Op& op) {
  return axis_of(op.attributes, op.operands[0]->type.rank()) == 0;
}

// Along axis 0, the indices have the rows; along others, x has them.
bool row_wise(const ir::Op& op, const std::vector<bool>& rows) {
  return is_first_axis(op) ? !rows[0] && rows[1] : rows[0] && !rows[1];
}

ExprId lower_gather(Lowering& l) {
  Builder& k = l.k();
  const Type& x = l.op().operands[0]->type;
  const auto indices_rank = static_cast<std::size_t>(l.op().operands[1]->type.rank());
  const std::size_t axis = axis_of(l.op().attributes, x.rank());
  const auto index = l.index();
  ExprId row = l.load(1, index.subspan(axis, indices_rank));
  row = k.cast(row, DType::i64);
  const ExprId rows = l.dim(x.shape[axis]);
  row = k.max(k.min(row, k.sub(rows, k.integer(1))), k.integer(0));
  std::vector<ExprId> source(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(axis));
  source.push_back(row);
  const auto rest = index.subspan(axis + indices_rank);
  source.insert(source.end(), rest.begin(), rest.end());
  const ExprId guard = x.shape[axis].is_constant() ? kernel_ir::kNoExpr : k.lt(k.integer(0), rows);
  return l.load(0, source, guard);
}

void gather_reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  const RefTensor& indices = *r.operands[1];
  const std::size_t axis = axis_of(r.op.attributes, static_cast<int>(x.shape.size()));
  const auto front = static_cast<std::ptrdiff_t>(axis);
  const auto back = front + static_cast<std::ptrdiff_t>(indices.shape.size());
  if (x.shape[axis] == 0) return;
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    const double row = at(indices, Index(index.begin() + front, index.begin() + back));
    Index source(index.begin(), index.begin() + front);
    source.push_back(
        std::clamp<std::int64_t>(static_cast<std::int64_t>(row), 0, x.shape[axis] - 1));
    source.insert(source.end(), index.begin() + back, index.end());
    at(*r.results[0], index) = at(x, source);
  });
}

// Indices beyond the end read the last row, so its gradient counts them. Those below 0 get none:
// sequences use -1 for no row. segment_ids and check_indices are never beyond the end.
Value rows_of_gradient(const Value& indices, const Value& x, std::int64_t axis) {
  const ir::Op* producer = indices.get()->producer;
  if (producer != nullptr &&
      (producer->name() == "check_indices" || producer->name() == "segment_ids"))
    return indices;
  return minimum(indices, dim_size(x, {.axes = {axis}, .dtype = indices.dtype()}) - 1.0);
}

// scatter_add works on rows of axis 0, so the axes of the indices move to the front before it, and
// the rows move back after it.
void gather_gradient_rule(GradientContext& c) {
  if (!c.needs_gradient(0)) return;
  const Value x = c.operand(0);
  const Value indices = c.operand(1);
  const auto axis = static_cast<std::int64_t>(axis_of(c.op().attributes, x.rank()));
  Value dy = c.gradient();
  if (get_attribute<bool>(c.op().attributes, "sparse_gradient")) {
    c.accumulate_rows(0, indices, dy);
    return;
  }
  if (axis > 0) {
    std::vector<std::int64_t> permutation(static_cast<std::size_t>(dy.rank()));
    std::iota(permutation.begin(), permutation.end(), 0);
    std::rotate(permutation.begin(), permutation.begin() + axis,
                permutation.begin() + axis + indices.rank());
    dy = transpose(dy, {.permutation = permutation});
  }
  Value dx = scatter_add(rows_of_gradient(indices, x, axis), dy,
                         {.rows = {x.dim(static_cast<int>(axis))}});
  if (axis > 0) {
    std::vector<std::int64_t> permutation(static_cast<std::size_t>(x.rank()));
    std::iota(permutation.begin(), permutation.end(), 0);
    std::rotate(permutation.begin(), permutation.begin() + 1, permutation.begin() + axis + 1);
    dx = transpose(dx, {.permutation = permutation});
  }
  c.accumulate(0, dx);
}

Sample gather_sample(std::vector<std::int64_t> shape, std::vector<std::int64_t> indices,
                     std::int64_t axis, DType dtype = DType::i64) {
  Sample s;
  const auto place = static_cast<std::size_t>(checked_axis(axis, static_cast<int>(shape.size())));
  const auto rows = static_cast<double>(shape[place]);
  s.operands = {type_of(std::move(shape)), type_of(std::move(indices), dtype)};
  s.attributes = {{"axis", axis}};
  s.ranges = {{-2, 2}, {0, rows}};
  return s;
}

}  // namespace

Op gather() {
  Op op("gather(x, indices; axis: int = 0, sparse_gradient: bool = false)");
  op.doc =
      "Rows of x along `axis` by integer index; the axes of `indices` replace the axis.\n"
      "An index below 0 reads the first row and gets no gradient.\n"
      "One beyond the last row reads the last row.\n"
      "If there are no rows, the result is 0.\n"
      "To reject such indices, pass them through check_indices first, as nn::embedding does.\n"
      "`sparse_gradient` is allowed for axis 0 only.\n"
      "If all uses of a parameter x gather with it, the gradient of x holds only the gathered "
      "rows.\n"
      "Its cost then depends on the number of gathered rows, not on the size of x.";
  op.traits = bits(Trait::view);
  op.type = gather_type;
  op.row_wise = row_wise;
  op.expands_sequences = [](const ir::Op& o) {
    const ir::Op* index = o.operands[1]->producer;
    return is_first_axis(o) && index != nullptr && index->name() == "segment_ids";
  };
  op.lower = lower_gather;
  op.reference = gather_reference;
  op.gradient = gather_gradient_rule;
  op.torch_reference =
      "torch.index_select(x[0], axis, x[1].reshape(-1).long()).reshape("
      "x[0].shape[:axis % x[0].dim()] + x[1].shape + x[0].shape[axis % x[0].dim() + 1:])";
  op.samples = {gather_sample({5, 37}, {9}, 0),    gather_sample({5, 7}, {2, 3}, 1),
                gather_sample({4, 3, 5}, {6}, -2), gather_sample({6}, {}, 0),
                gather_sample({3, 4}, {0}, 0),     gather_sample({7, 2}, {4}, 0, DType::i32)};
  op.samples.push_back(gather_sample({7, 3}, {2, 5}, 0));
  set_attribute(op.samples.back().attributes, "sparse_gradient", true);
  return op;
}

}  // namespace trireme::ops
