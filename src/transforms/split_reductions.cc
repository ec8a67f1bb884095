// Names these ops: block_sum, div, mean, sum

#include "transforms/split_reductions.h"

#include <algorithm>
#include <numeric>

#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;

// With more columns than this, the columns alone are enough work for all threads.
constexpr std::int64_t kMaxColumns = 256;
// Shorter rows do not need a sum of their own, and fewer elements do not need a second step.
constexpr std::int64_t kMinPerRow = 1024, kMinElements = 65536, kMinRows = 16;
constexpr std::int64_t kBlock = 4096;

// Reduces along all of `axes` except the first, which is 0, and then along axis 0.
Replacement first_axis_last(ir::Builder& b, const ir::Op& op, const Integers& axes) {
  const auto reduced = [&](ir::Value* x, const Integers& along) {
    return b.make(op.name(), {x}, {{"axes", along}, {"keep", false}});
  };
  return {{reduced(reduced(op.operands[0], Integers(axes.begin() + 1, axes.end())), {0})}};
}

// Whether a sum has few results. `axes` must be sorted and non-negative.
bool leaves_few_columns(const ir::Op& op, const Integers& axes) {
  const std::int64_t last = op.operands[0]->type.rank() - 1;
  if (op.name() != "sum" || axes.size() < 2 || axes.front() != 0 || axes.back() == last) {
    return false;
  }
  const Dim kept = product(op.result()->type.shape);
  return kept.is_constant() && kept.constant() <= kMaxColumns;
}

// Splits the sum or mean of all elements.
Replacement split_total(ir::Builder& b, const ir::Op& op) {
  ir::Value* x = op.operands[0];
  const Shape& shape = x->type.shape;
  if (shape.empty()) return std::nullopt;
  const Dim elements = product(shape), per_row = product(Shape(shape.begin() + 1, shape.end()));
  const bool many_rows = !shape[0].is_constant() || shape[0].constant() >= kMinRows;
  if (many_rows && per_row.is_constant() && per_row.constant() >= kMinPerRow) {
    Integers all(shape.size());
    std::iota(all.begin(), all.end(), 0);
    return first_axis_last(b, op, all);
  }
  if (!elements.is_constant() || elements.constant() < kMinElements) return std::nullopt;
  ir::Value* sums = b.make("block_sum", {x}, {{"size", kBlock}});
  ir::Value* total = b.make("sum", {sums}, {{"axes", Integers{0}}, {"keep", false}});
  if (op.name() == "sum") return {{total}};
  ir::Value* count = b.constant(total->type, static_cast<double>(elements.constant()));
  return {{b.make("div", {total, count})}};
}

Replacement split_into_blocks(ir::Builder& b, const ir::Op& op) {
  if ((op.name() != "sum" && op.name() != "mean") || get_attribute<bool>(op.attributes, "keep")) {
    return std::nullopt;
  }
  const std::int64_t rank = op.operands[0]->type.rank();
  Integers axes = get_attribute<Integers>(op.attributes, "axes");
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  if (axes.empty() || static_cast<std::int64_t>(axes.size()) == rank) {
    return split_total(b, op);
  }
  if (!std::is_sorted(axes.begin(), axes.end()) || !leaves_few_columns(op, axes)) {
    return std::nullopt;
  }
  return first_axis_last(b, op, axes);
}

}  // namespace

void split_reductions(ir::Program& program) {
  rewrite(program, [&](ir::Builder& b, const ir::Op& op) { return split_into_blocks(b, op); });
}

}  // namespace trireme::transforms
