#include <algorithm>
#include <unordered_set>

#include "compiler/groups.h"
#include "ops/op.h"

namespace trireme::compiler {
namespace {

using ir::Op;
using ir::Trait;

// Returns the shape that an op iterates over: of the operand it reduces or assigns, or of its
// result.
const Shape& shape_of(const Op& op) {
  if (op.has(Trait::reduction) || op.results.empty()) return op.operands[0]->type.shape;
  return op.result()->type.shape;
}

// Returns the number of elements in a block that the op reduces, or 0 if it reduces whole
// dimensions.
std::int64_t block_of(const Op& op) {
  const bool blocks = ops::Catalog::of(op).reduces_blocks;
  return blocks ? get_attribute<std::int64_t>(op.attributes, "size") : 0;
}

std::vector<bool> reduced_axes(const Op& op) {
  if (block_of(op) > 0) return std::vector<bool>(op.operands[0]->type.shape.size(), true);
  const auto& axes = get_attribute<std::vector<std::int64_t>>(op.attributes, "axes");
  const std::size_t rank = op.operands[0]->type.shape.size();
  std::vector<bool> reduced(rank, axes.empty());
  for (const std::int64_t axis : axes) {
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] =
        true;
  }
  return reduced;
}

bool axes_skip_reduced(const Op& broadcast, const Domain& domain) {
  // A row value that is broadcast to the full shape must keep the order of its dimensions.
  const auto& axes = get_attribute<std::vector<std::int64_t>>(broadcast.attributes, "axes");
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < domain.reduced.size(); ++i) {
    if (!domain.reduced[i]) kept.push_back(static_cast<std::int64_t>(i));
  }
  return axes == kept;
}

// Whether `op` can read `operand`, which another op of the group computes, inside the kernel.
bool reads_in_place(const Op& op, const ir::Value& operand, const Domain& domain) {
  const Shape& from = operand.type.shape;
  if (op.has(Trait::reduction)) return domain.is_full(from);
  const Shape& to = shape_of(op);
  if (op.has(Trait::elementwise) || op.has(Trait::side_effect)) return from == to;
  if (op.has(Trait::reshape)) {
    return (domain.is_full(from) && domain.is_full(to)) ||
           (domain.is_row(from) && domain.is_row(to));
  }
  if (op.has(Trait::broadcast)) {
    if (from.empty()) return true;
    if (domain.is_full(to) && domain.has_reduction && from == domain.row_shape()) {
      return axes_skip_reduced(op, domain);
    }
  }
  return false;  // other ops read elements at other positions
}

// A single number for the whole kernel, such as a learning rate, is cheap enough for every thread.
bool is_uniform(const Op& op) {
  return shape_of(op).empty() && op.has(Trait::cheap) && !op.has(Trait::side_effect);
}

// Next to a contraction, ops work on its sums element by element; all other values are read.
bool can_follow_contraction(const Op& op, const Domain& domain,
                            const std::unordered_set<const Op*>& members) {
  if (&op == domain.contraction || op.has(Trait::elementwise)) return true;
  if (op.has(Trait::contraction) || op.has(Trait::side_effect)) return false;
  return std::all_of(op.operands.begin(), op.operands.end(), [&](const ir::Value* operand) {
    return operand->producer == nullptr || !members.contains(operand->producer) ||
           operand->type.shape.empty();
  });
}

bool is_compatible(const Op& op, const Domain& domain,
                   const std::unordered_set<const Op*>& members) {
  const Shape& shape = shape_of(op);
  if (op.has(Trait::library) || !op.blocks.empty()) return false;
  if (domain.contraction != nullptr && !can_follow_contraction(op, domain, members)) return false;
  if (op.has(Trait::reduction)) {
    if (!domain.is_full(shape) || reduced_axes(op) != domain.reduced ||
        block_of(op) != domain.block) {
      return false;
    }
  } else if (!domain.is_full(shape) && !is_uniform(op) &&
             (domain.block > 0 || !domain.is_row(shape))) {
    return false;
  }
  return std::all_of(op.operands.begin(), op.operands.end(), [&](const ir::Value* operand) {
    return operand->producer == nullptr || !members.contains(operand->producer) ||
           reads_in_place(op, *operand, domain);
  });
}

}  // namespace

Shape Domain::row_shape() const {
  if (block > 0) return {(product(shape).constant() + block - 1) / block};
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) result.push_back(shape[i]);
  }
  return result;
}

Shape Domain::kept_row_shape() const {
  Shape result = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (reduced[i]) result[i] = 1;
  }
  return result;
}

bool Domain::is_row(const Shape& other) const {
  return has_reduction && (other == row_shape() || other == kept_row_shape());
}

std::optional<Domain> common_domain(const std::vector<const Op*>& ops) {
  Domain domain;
  const auto reduction =
      std::find_if(ops.begin(), ops.end(), [](const Op* op) { return op->has(Trait::reduction); });
  const auto largest =
      std::find_if(ops.begin(), ops.end(), [](const Op* op) { return !shape_of(*op).empty(); });
  const auto contraction = std::find_if(ops.begin(), ops.end(),
                                        [](const Op* op) { return op->has(Trait::contraction); });
  if (contraction != ops.end()) domain.contraction = *contraction;
  if (domain.contraction != nullptr && reduction != ops.end()) return std::nullopt;
  const Op& model = domain.contraction != nullptr ? *domain.contraction
                    : reduction != ops.end()      ? **reduction
                    : largest != ops.end()        ? **largest
                                                  : *ops.front();
  domain.shape = shape_of(model);
  domain.has_reduction = reduction != ops.end();
  domain.block = domain.has_reduction ? block_of(model) : 0;
  domain.reduced =
      domain.has_reduction ? reduced_axes(model) : std::vector<bool>(domain.shape.size(), false);
  const std::unordered_set<const Op*> members(ops.begin(), ops.end());
  for (const Op* op : ops) {
    if (!is_compatible(*op, domain, members)) return std::nullopt;
  }
  return domain;
}

}  // namespace trireme::compiler
