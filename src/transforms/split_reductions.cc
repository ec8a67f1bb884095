#include "transforms/split_reductions.h"

#include <algorithm>
#include <numeric>

#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;
using Replacement = std::optional<std::vector<ir::Value*>>;

// Above this the columns themselves are enough work to share out.
constexpr std::int64_t kFewColumns = 256;
// Rows that are shorter are not worth a number of their own, fewer elements no second step.
constexpr std::int64_t kLeastPerRow = 1024, kLeastElements = 65536, kLeastRows = 16;
constexpr std::int64_t kBlock = 4096;

// Along all of `axes` but the first, which is 0, then along this.
Replacement first_axis_last(ir::Program& program, const ir::Op& op, const Integers& axes) {
  const auto reduced = [&](ir::Value* x, const Integers& along) {
    return make(program, op, op.name(), {x}, {{"axes", along}, {"keep", false}});
  };
  return {{reduced(reduced(op.operands[0], Integers(axes.begin() + 1, axes.end())), {0})}};
}

// Of an op with sorted axes that are counted from the front.
bool leaves_few_columns(const ir::Op& op, const Integers& axes) {
  const std::int64_t last = op.operands[0]->type.rank() - 1;
  if (op.name() != "sum" || axes.size() < 2 || axes.front() != 0 || axes.back() == last) {
    return false;
  }
  const Dim kept = product(op.result()->type.shape);
  return kept.is_constant() && kept.constant() <= kFewColumns;
}

// The sum or mean of all elements.
Replacement split_total(ir::Program& program, const ir::Op& op) {
  ir::Value* x = op.operands[0];
  const Shape& shape = x->type.shape;
  if (shape.empty()) return std::nullopt;
  const Dim elements = product(shape), per_row = product(Shape(shape.begin() + 1, shape.end()));
  const bool many_rows = !shape[0].is_constant() || shape[0].constant() >= kLeastRows;
  if (many_rows && per_row.is_constant() && per_row.constant() >= kLeastPerRow) {
    Integers all(shape.size());
    std::iota(all.begin(), all.end(), 0);
    return first_axis_last(program, op, all);
  }
  if (!elements.is_constant() || elements.constant() < kLeastElements) return std::nullopt;
  ir::Value* sums = make(program, op, "block_sum", {x}, {{"size", kBlock}});
  ir::Value* total = make(program, op, "sum", {sums}, {{"axes", Integers{0}}, {"keep", false}});
  if (op.name() == "sum") return {{total}};
  ir::Value* count =
      make_constant(program, op, total->type, static_cast<double>(elements.constant()));
  return {{make(program, op, "div", {total, count})}};
}

Replacement split(ir::Program& program, const ir::Op& op) {
  if ((op.name() != "sum" && op.name() != "mean") || ir::get<bool>(op.attributes, "keep")) {
    return std::nullopt;
  }
  const std::int64_t rank = op.operands[0]->type.rank();
  Integers axes = ir::get<Integers>(op.attributes, "axes");
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  if (axes.empty() || static_cast<std::int64_t>(axes.size()) == rank) {
    return split_total(program, op);
  }
  if (!std::is_sorted(axes.begin(), axes.end()) || !leaves_few_columns(op, axes)) {
    return std::nullopt;
  }
  return first_axis_last(program, op, axes);
}

}  // namespace

void split_reductions(ir::Program& program) {
  rewrite(program, [&](const ir::Op& op) { return split(program, op); });
}

}  // namespace trireme::transforms
