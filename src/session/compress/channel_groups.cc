#include "session/compress/channel_groups.h"

#include <algorithm>

namespace trireme::compression {
namespace {

using Axes = std::vector<std::int64_t>;

bool is_plain_product(const ir::Op& op) {
  return op.name() == "matmul" && op.operands[1]->type.shape.size() == 2 &&
         !get_attribute<bool>(op.attributes, "transpose_a") &&
         !get_attribute<bool>(op.attributes, "transpose_b");
}

// The parts of two shapes that hold the same elements; empty lists at the end.
struct Part {
  std::vector<std::size_t> from, to;
};

// Takes the next part of each shape from `i` and `j` on. Returns false if there is none.
bool next_part(const Shape& from, const Shape& to, std::size_t& i, std::size_t& j, Part& part) {
  part = {};
  while (i < from.size() && from[i] == Dim(1)) ++i;
  while (j < to.size() && to[j] == Dim(1)) ++j;
  if (i == from.size() || j == to.size()) return false;
  Dim a = from[i], b = to[j];
  part.from.push_back(i++);
  part.to.push_back(j++);
  while (a != b) {
    if (i < from.size() && b.divided_by(a)) {
      a = a * from[i];
      part.from.push_back(i++);
    } else if (j < to.size() && a.divided_by(b)) {
      b = b * to[j];
      part.to.push_back(j++);
    } else {
      return false;
    }
  }
  return true;
}

// The elements after the first axis of a part; 0 if they are not constant.
std::int64_t inner_of(const Shape& shape, const std::vector<std::size_t>& axes) {
  Dim inner = 1;
  for (std::size_t k = 1; k < axes.size(); ++k) inner = inner * shape[axes[k]];
  return inner.is_constant() ? inner.constant() : 0;
}

}  // namespace

ChannelGroups::ChannelGroups(const ir::Program& program) {
  for (const auto& parameter : program.parameters()) add(parameter->value.get());
  add(program.main());
  for (const auto& op : program.main().ops) visit(*op);
  for (const auto& argument : program.main().arguments) {
    for (std::size_t i = 0; i < argument->type.shape.size(); ++i) fix(argument.get(), i);
  }
  for (const ir::Value* result : program.main().results) {
    for (std::size_t i = 0; i < result->type.shape.size(); ++i) fix(result, i);
  }
}

void ChannelGroups::add(const ir::Value* value) {
  first_[value] = static_cast<int>(nodes_.size());
  for (std::size_t i = 0; i < value->type.shape.size(); ++i) {
    nodes_.push_back({static_cast<int>(nodes_.size())});
  }
}

void ChannelGroups::add(const ir::Block& block) {
  for (const auto& argument : block.arguments) add(argument.get());
  for (const auto& op : block.ops) {
    for (const auto& result : op->results) add(result.get());
    for (const auto& inner : op->blocks) add(*inner);
  }
}

int ChannelGroups::node(const ir::Value* value, std::size_t axis) const {
  return first_.at(value) + static_cast<int>(axis);
}

ChannelGroups::Place ChannelGroups::root(int node) const {
  Place place{node, 1};
  while (nodes_[static_cast<std::size_t>(place.group)].parent != place.group) {
    const Node& at = nodes_[static_cast<std::size_t>(place.group)];
    place = {at.parent, place.inner * at.inner};
  }
  return place;
}

ChannelGroups::Place ChannelGroups::place(const ir::Value* value, std::size_t axis) const {
  return root(node(value, axis));
}

void ChannelGroups::fix(int node) {
  nodes_[static_cast<std::size_t>(root(node).group)].fixed = true;
}

void ChannelGroups::join(int a, int b, std::int64_t inner) {
  Place above = root(a), below = root(b);
  above.inner *= inner;
  if (above.inner < below.inner) std::swap(above, below);
  if (above.group == below.group) {
    if (above.inner != below.inner) fix(a);
    return;
  }
  if (inner == 0 || above.inner % below.inner != 0) {
    fix(a);
    fix(b);
    return;
  }
  Node& moved = nodes_[static_cast<std::size_t>(below.group)];
  Node& kept = nodes_[static_cast<std::size_t>(above.group)];
  moved.parent = above.group;
  moved.inner = above.inner / below.inner;
  kept.fixed = kept.fixed || moved.fixed;
}

void ChannelGroups::fix_all(const ir::Op& op) {
  const auto fix_value = [&](const ir::Value* value) {
    for (std::size_t i = 0; i < value->type.shape.size(); ++i) fix(value, i);
  };
  for (const ir::Value* operand : op.operands) fix_value(operand);
  for (const auto& result : op.results) fix_value(result.get());
  for (const auto& block : op.blocks) {
    for (const auto& inner : block->ops) fix_all(*inner);
    for (const ir::Value* result : block->results) fix_value(result);
  }
}

void ChannelGroups::visit(const ir::Op& op) {
  using ir::Trait;
  if (!op.blocks.empty()) return fix_all(op);
  if (op.has(Trait::constant)) return;
  if (op.has(Trait::elementwise) || op.name() == "when_training" || op.name() == "assign") {
    return visit_same_shapes(op);
  }
  if (op.has(Trait::broadcast)) {
    const auto& axes = get_attribute<Axes>(op.attributes, "axes");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      join(op.operands[0], i, op.result(), static_cast<std::size_t>(axes[i]));
    }
    return;
  }
  if (op.has(Trait::reshape)) return visit_reshape(op);
  if (op.has(Trait::reduction)) return visit_reduction(op);
  visit_known(op);
}

void ChannelGroups::visit_same_shapes(const ir::Op& op) {
  const ir::Value* first = op.operands[0];
  const auto join_all = [&](const ir::Value* value) {
    if (value->type.shape.size() != first->type.shape.size()) return fix_all(op);
    for (std::size_t i = 0; i < value->type.shape.size(); ++i) join(first, i, value, i);
  };
  for (const ir::Value* operand : op.operands) join_all(operand);
  for (const auto& result : op.results) join_all(result.get());
}

void ChannelGroups::visit_reduction(const ir::Op& op) {
  const ir::Value* x = op.operands[0];
  const auto rank = static_cast<std::int64_t>(x->type.shape.size());
  const Attribute* given = find_attribute(op.attributes, "axes");
  const Attribute* keep = find_attribute(op.attributes, "keep");
  if (given == nullptr || keep == nullptr || op.results.size() != 1) return fix_all(op);
  const Axes axes = get_attribute<Axes>(op.attributes, "axes");
  const bool is_kept = get_attribute<bool>(op.attributes, "keep");
  std::size_t next = 0;
  for (std::int64_t i = 0; i < rank; ++i) {
    const bool reduced = axes.empty() || std::find(axes.begin(), axes.end(), i) != axes.end() ||
                         std::find(axes.begin(), axes.end(), i - rank) != axes.end();
    const auto axis = static_cast<std::size_t>(i);
    if (reduced) fix(x, axis);
    else join(x, axis, op.result(), next);
    if (!reduced || is_kept) ++next;
  }
}

void ChannelGroups::visit_reshape(const ir::Op& op) {
  const ir::Value* x = op.operands[0];
  const ir::Value* y = op.result();
  const Shape &from = x->type.shape, &to = y->type.shape;
  std::size_t i = 0, j = 0;
  Part part;
  std::vector<bool> joined(from.size());
  while (next_part(from, to, i, j, part)) {
    const auto a = node(x, part.from[0]), b = node(y, part.to[0]);
    joined[part.from[0]] = true;
    if (part.to.size() == 1) join(a, b, inner_of(from, part.from));
    else if (part.from.size() == 1) join(b, a, inner_of(to, part.to));
    else return fix_all(op);
    for (std::size_t k = 1; k < part.from.size(); ++k) fix(x, part.from[k]);
    for (std::size_t k = 1; k < part.to.size(); ++k) fix(y, part.to[k]);
  }
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (!joined[k]) fix(x, k);
  }
}

void ChannelGroups::visit_known(const ir::Op& op) {
  const ir::Value* x = op.operands.empty() ? nullptr : op.operands[0];
  if (op.name() == "conv2d" && get_attribute<std::int64_t>(op.attributes, "groups") == 1) {
    join(x, 1, op.operands[1], 1);
    join(op.operands[1], 0, op.result(), 1);
  } else if (op.name() == "max_pool" || op.name() == "avg_pool") {
    for (const auto& result : op.results) join(x, 1, result.get(), 1);
  } else if (is_plain_product(op)) {
    const std::size_t last = x->type.shape.size() - 1;
    for (std::size_t i = 0; i < last; ++i) join(x, i, op.result(), i);
    join(x, last, op.operands[1], 0);
    join(op.operands[1], 1, op.result(), last);
  } else if (op.name() == "transpose") {
    const auto& order = get_attribute<Axes>(op.attributes, "permutation");
    for (std::size_t i = 0; i < order.size(); ++i) {
      join(x, static_cast<std::size_t>(order[i]), op.result(), i);
    }
  } else if (op.name() == "dim_size") {
    for (const std::int64_t axis : get_attribute<Axes>(op.attributes, "axes")) {
      const auto rank = static_cast<std::int64_t>(x->type.shape.size());
      fix(x, static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
    }
  } else {
    fix_all(op);
  }
}

}  // namespace trireme::compression
