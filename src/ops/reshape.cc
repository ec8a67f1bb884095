#include <algorithm>

#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> reshape_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const Shape& shape = get_attribute<Shape>(c.attributes, "shape");
  require(
      product(x.shape) == product(shape),
      [&] {
        return "cannot reshape " + c.operand_texts[0] + " to " + str(shape) + ": " +
               product(x.shape).str() + " elements differ from " + product(shape).str();
      },
      "use the same symbols, such as `batch`, in the new shape as in the old one");
  Type result{x.dtype, shape, ""};
  return {result};
}

// Dimensions [from, from_end) of one shape and [to, to_end) of the other hold the same elements.
struct Run {
  std::size_t from, from_end, to, to_end;
};

// Returns the shortest runs of equal size from the left, so that unchanged dimensions need no
// arithmetic.
std::vector<Run> matching_runs(const Shape& from, const Shape& to) {
  std::vector<Run> runs;
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    Run run{i, i, j, j};
    Dim left = 1, right = 1;
    if (run.from_end < from.size()) left = from[run.from_end++];
    if (run.to_end < to.size()) right = to[run.to_end++];
    while (left != right) {
      // Only the side that is a proper divisor can grow; otherwise all dimensions are one run.
      const bool grow_left = run.from_end < from.size() && right.divided_by(left).has_value();
      const bool grow_right = run.to_end < to.size() && left.divided_by(right).has_value();
      if (grow_left == grow_right) return {{0, from.size(), 0, to.size()}};
      if (grow_left) left = left * from[run.from_end++];
      if (grow_right) right = right * to[run.to_end++];
    }
    runs.push_back(run);
    i = run.from_end, j = run.to_end;
  }
  return runs;
}

ExprId lower_reshape(Lowering& l) {
  const Shape& from = l.op().operands[0]->type.shape;
  const Shape& to = l.op().result()->type.shape;
  std::vector<ExprId> index(from.size());
  for (const Run& run : matching_runs(from, to)) {
    const Shape part(from.begin() + static_cast<std::ptrdiff_t>(run.from),
                     from.begin() + static_cast<std::ptrdiff_t>(run.from_end));
    const Shape result_part(to.begin() + static_cast<std::ptrdiff_t>(run.to),
                            to.begin() + static_cast<std::ptrdiff_t>(run.to_end));
    const auto result_index = l.index().subspan(run.to, run.to_end - run.to);
    if (part.size() == 1 && result_part.size() == 1) {
      index[run.from] = result_index[0];
      continue;
    }
    const std::vector<ExprId> pieces = l.delinear(l.linear(result_index, result_part), part);
    std::copy(pieces.begin(), pieces.end(), index.begin() + static_cast<std::ptrdiff_t>(run.from));
  }
  return l.load(0, index);
}

Sample reshape_sample(std::vector<std::int64_t> from, const Shape& to) {
  Sample s;
  s.operands = {type_of(std::move(from))};
  s.attributes = {{"shape", to}};
  return s;
}

}  // namespace

Op reshape() {
  Op op("reshape(x; shape: shape)");
  op.doc =
      "The same elements in row-major order, with another shape of the same number of "
      "elements.";
  op.traits = Trait::view | Trait::cheap | Trait::reshape;
  op.type = reshape_type;
  op.row_wise = [](const ir::Op& o, const std::vector<bool>&) {
    const Shape& shape = o.result()->type.shape;
    return !shape.empty() && shape[0] == o.operands[0]->type.shape[0];
  };
  op.lower = lower_reshape;
  op.reference = [](const Reference& r) { r.results[0]->data = r.operands[0]->data; };
  op.gradient = [](GradientContext& c) {
    c.accumulate(0, reshape(c.gradient(), {.shape = c.operand(0).shape()}));
  };
  op.torch_reference = "torch.reshape(x[0], tuple(shape))";
  op.samples = {reshape_sample({6, 5}, {30}),      reshape_sample({30}, {2, 3, 5}),
                reshape_sample({3, 1, 7}, {3, 7}), reshape_sample({4, 6}, {2, 12}),
                reshape_sample({4, 6}, {6, 4}),    reshape_sample({2, 3, 4, 5}, {2, 12, 5}),
                reshape_sample({1}, {}),           reshape_sample({}, {1, 1}),
                reshape_sample({0, 3}, {3, 0, 2}), reshape_sample({2, 6, 3}, {2, 2, 9}),
                reshape_sample({7, 2}, {7, 1, 2})};
  return op;
}

}  // namespace trireme::ops
