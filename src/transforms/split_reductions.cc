#include "transforms/split_reductions.h"

#include <algorithm>

#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;

// Above this the columns themselves are enough work to share out.
constexpr std::int64_t kFewColumns = 256;

bool wants_splitting(const ir::Op& op, const Integers& axes) {
  const ir::Type& x = op.operands[0]->type;
  const std::int64_t last = x.rank() - 1;
  if (axes.size() < 2 || axes.front() != 0 || axes.back() == last) return false;
  if (ir::get<bool>(op.attributes, "keep")) return false;
  const Dim kept = product(op.result()->type.shape);
  return kept.is_constant() && kept.constant() <= kFewColumns;
}

}  // namespace

void split_reductions(ir::Program& program) {
  rewrite(program, [&](ir::Op& op) -> std::optional<std::vector<ir::Value*>> {
    if (op.name() != "sum") return std::nullopt;
    Integers axes = ir::get<Integers>(op.attributes, "axes");
    for (std::int64_t& axis : axes) axis += axis < 0 ? op.operands[0]->type.rank() : 0;
    if (!std::is_sorted(axes.begin(), axes.end()) || !wants_splitting(op, axes)) {
      return std::nullopt;
    }
    const Integers inner(axes.begin() + 1, axes.end());
    ir::Value* partial =
        make(program, op, "sum", {op.operands[0]}, {{"axes", inner}, {"keep", false}});
    return {{make(program, op, "sum", {partial}, {{"axes", Integers{0}}, {"keep", false}})}};
  });
}

}  // namespace trireme::transforms
