#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/flops.h"
#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> scatter_add_type(const TypeContext& c) {
  const Type& indices = c.operands[0];
  const Type& updates = c.operands[1];
  const Shape& rows = get_attribute<Shape>(c.attributes, "rows");
  require(is_index(indices.dtype), "scatter_add needs integer indices, not " + c.operand_texts[0],
          "cast them to i64");
  require(is(updates.dtype, Numbers::common),
          "scatter_add needs numeric updates, not " + c.operand_texts[1]);
  require(rows.size() == 1, "scatter_add: `rows` must be one size, not " + str(rows));
  require(updates.rank() >= indices.rank() &&
              std::equal(indices.shape.begin(), indices.shape.end(), updates.shape.begin()),
          "scatter_add: the shape of the updates must begin with the shape of the indices: " +
              c.operand_texts[0] + " and " + c.operand_texts[1]);
  Type result{updates.dtype, rows, ""};
  result.shape.insert(result.shape.end(), updates.shape.begin() + indices.rank(),
                      updates.shape.end());
  return {result};
}

void scatter_add_reference(const Reference& r) {
  const RefTensor& indices = *r.operands[0];
  RefTensor& y = *r.results[0];
  const auto front = static_cast<std::ptrdiff_t>(indices.shape.size());
  const auto rows = static_cast<double>(y.shape[0]);
  for (const double row : indices.data) {  // also of rows without elements
    if (row >= rows) fail_data("scatter_add: an index is outside [0, rows)");
  }
  for_each_index(r.operands[1]->shape, [&](const Index& index) {
    const double row = at(indices, Index(index.begin(), index.begin() + front));
    if (row < 0) return;
    Index target{static_cast<std::int64_t>(row)};
    target.insert(target.end(), index.begin() + front, index.end());
    at(y, target) += at(*r.operands[1], index);
  });
}

Sample scatter_add_sample(std::int64_t rows, std::vector<std::int64_t> indices,
                          std::vector<std::int64_t> row) {
  Sample s;
  std::vector<std::int64_t> updates = indices;
  updates.insert(updates.end(), row.begin(), row.end());
  s.operands = {type_of(std::move(indices), DType::i64), type_of(std::move(updates))};
  s.attributes = {{"rows", Shape{rows}}};
  s.ranges = {{0, static_cast<double>(rows)}, {-2, 2}};
  return s;
}

}  // namespace

Op scatter_add() {
  Op op("scatter_add(indices, updates; rows: shape)");
  op.doc =
      "A tensor of zeros with `rows` rows, to which updates are added at the rows in "
      "`indices`, in order.\n"
      "The shape of `updates` is the shape of `indices`, followed by the shape of a row.\n"
      "Indices are integers, and updates have a numeric dtype.\n"
      "A negative index is skipped; one beyond the last row is Error(data) at run time.";
  op.traits = bits(Trait::library);
  op.flops = flop_per_element_of(1);
  op.type = scatter_add_type;
  op.row_additive = [](const ir::Op&, const std::vector<bool>& rows) { return rows[0] && rows[1]; };
  op.library_kernel = "scatter_add";
  op.reference = scatter_add_reference;
  op.gradient = [](GradientContext& c) {
    if (!c.needs_gradient(1)) return;
    const Value dy = gather(c.gradient(), c.operand(0));
    std::vector<std::int64_t> axes(static_cast<std::size_t>(c.operand(0).rank()));
    std::iota(axes.begin(), axes.end(), 0);
    const Value skipped = broadcast(c.operand(0) < 0.0, {.shape = dy.shape(), .axes = axes});
    c.accumulate(1, trireme::where(skipped, 0.0, dy));
  };
  op.torch_reference =
      "torch.zeros([int(rows[0])] + list(x[1].shape[x[0].dim():]), dtype=x[1].dtype)"
      ".index_add(0, x[0].reshape(-1).long().clamp(min=0), "
      "(x[1] * (x[0] >= 0).reshape(list(x[0].shape) + [1] * (x[1].dim() - "
      "x[0].dim()))).reshape([-1] + list(x[1].shape[x[0].dim():]) if x[0].numel() else "
      "[0] + list(x[1].shape[x[0].dim():])))";
  op.samples = {scatter_add_sample(5, {9}, {37}), scatter_add_sample(7, {2, 3}, {5}),
                scatter_add_sample(4, {6}, {}), scatter_add_sample(3, {}, {2}),
                scatter_add_sample(3, {0}, {4})};
  Sample skipping = scatter_add_sample(5, {9}, {3});
  skipping.ranges = {{-3, 5}, {-2, 2}};  // negative indices are skipped
  op.samples.push_back(skipping);
  return op;
}

}  // namespace trireme::ops
