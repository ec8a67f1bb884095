// Checks that a step of a recurrent network does not mix the rows of different sequences.

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "ir/mistake.h"
#include "ir/step.h"

namespace trireme::ir {
namespace {

class RowChecker {
 public:
  explicit RowChecker(const std::vector<Dim>& rows) {
    for (const Dim& dim : rows) add(dim);
  }

  void check(const Block& block) {
    for (const auto& op : block.ops) {
      for (const auto& result : op->results) {
        // The step may make sequences itself, for example with filter().
        if (op->has(Trait::makes_splits)) rows_.insert(result->type.splits_of);
      }
      if (mixes(*op)) fail(*op);
      for (const auto& inner : op->blocks) check(*inner);
    }
  }

 private:
  void add(const Dim& dim) {
    for (const std::string& symbol : dim.symbols()) rows_.insert(symbol);
  }

  bool counts_rows(const Dim& dim) const {
    const std::vector<std::string> symbols = dim.symbols();
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](const std::string& symbol) { return rows_.contains(symbol); });
  }

  std::ptrdiff_t count_row_axes(const Type& type) const {
    return std::count_if(type.shape.begin(), type.shape.end(),
                         [&](const Dim& dim) { return counts_rows(dim); });
  }

  // Returns whether the op mixes elements along an axis of its first operand that counts rows.
  bool mixes_rows(const Op& op) const {
    const Shape& shape = op.operands[0]->type.shape;
    const std::vector<int> axes = op.def->mixed_axes(op);
    return std::any_of(axes.begin(), axes.end(), [&](int axis) {
      return counts_rows(shape[static_cast<std::size_t>(axis)]);
    });
  }

  // Whether the op combines rows of one operand with rows of another, as an outer product does.
  bool crosses_rows(const Op& op) const {
    std::ptrdiff_t largest = 0;
    for (const Value* operand : op.operands)
      largest = std::max(largest, count_row_axes(operand->type));
    return op.operands.size() > 1 && count_row_axes(op.result()->type) > largest;
  }

  // Functions of sequences gather and sort rows according to splits, which cannot be checked here.
  // Reports only ops whose result differs from computing each sequence alone.
  bool mixes(const Op& op) const {
    if (op.operands.empty() || !op.blocks.empty()) return false;
    if (op.has(Trait::elementwise) || op.has(Trait::sequences) || op.has(Trait::makes_splits)) {
      return false;
    }
    const bool reads_rows =
        std::any_of(op.operands.begin(), op.operands.end(),
                    [&](const Value* operand) { return count_row_axes(operand->type) > 0; });
    if (!reads_rows || op.has(Trait::shape_only)) return false;
    for (const auto& result : op.results) {
      if (count_row_axes(result->type) == 0) return true;
    }
    return op.def->mixed_axes && (mixes_rows(op) || crosses_rows(op));
  }

  [[noreturn]] void fail(const Op& op) const {
    const Value& rows =
        **std::find_if(op.operands.begin(), op.operands.end(),
                       [&](const Value* operand) { return count_row_axes(operand->type) > 0; });
    const auto dim = std::find_if(rows.type.shape.begin(), rows.type.shape.end(),
                                  [&](const Dim& size) { return counts_rows(size); });
    fail_usage(describe_mistake(
        op.name(), op.def, op.operands, op.location,
        {"it mixes rows of different sequences in a step of a recurrent network: " + dim->str() +
             " counts these rows",
         "work along other axes; to sum rows of a ragged input() or static_input(), use "
         "sequence::sum(); compute values of all sequences together, such as a loss, from an "
         "output() after the step"}));
  }

  std::unordered_set<std::string> rows_;  // symbols that count rows
};

}  // namespace

void require_rows_apart(const Block& step, const std::vector<Dim>& rows) {
  RowChecker(rows).check(step);
}

}  // namespace trireme::ir
