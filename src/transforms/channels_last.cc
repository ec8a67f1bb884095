// Names these ops: transpose

#include "transforms/channels_last.h"

#include <algorithm>
#include <numeric>

#include "transforms/rewrite.h"
#include "transforms/simplify.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;

// Permutations for transpose() that move channels of images or volumes from first to last, and
// back.
const Integers& to_last(std::size_t rank) {
  static const Integers kImage = {0, 2, 3, 1}, kVolume = {0, 2, 3, 4, 1};
  return rank == 4 ? kImage : kVolume;
}
const Integers& to_first(std::size_t rank) {
  static const Integers kImage = {0, 3, 1, 2}, kVolume = {0, 4, 1, 2, 3};
  return rank == 4 ? kImage : kVolume;
}

ir::Value* channels_to_last(ir::Builder& b, ir::Value* x) {
  return b.make("transpose", {x}, {{"permutation", to_last(x->type.shape.size())}});
}
ir::Value* channels_to_first(ir::Builder& b, ir::Value* x) {
  return b.make("transpose", {x}, {{"permutation", to_first(x->type.shape.size())}});
}

bool has_layout(const ir::Op& op) { return !op.def->image_operands.empty(); }

// Replaces the op by one in channels-last layout, with transposes around it.
Replacement convert(ir::Builder& b, ir::Op& op) {
  if (!has_layout(op) || get_attribute<std::string>(op.attributes, "layout") != "nchw") {
    return std::nullopt;
  }
  std::vector<ir::Value*> operands = op.operands;
  for (const int i : op.def->image_operands) {
    ir::Value*& operand = operands[static_cast<std::size_t>(i)];
    operand = channels_to_last(b, operand);
  }
  Attributes attributes = op.attributes;
  set_attribute(attributes, "layout", std::string("nhwc"));
  const ir::Op* converted = b.append(op.name(), std::move(operands), std::move(attributes));
  std::vector<ir::Value*> results;
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    const auto& images = op.def->image_results;
    const bool image = std::find(images.begin(), images.end(), static_cast<int>(i)) != images.end();
    ir::Value* result = converted->result(static_cast<int>(i));
    results.push_back(image ? channels_to_first(b, result) : result);
  }
  return results;
}

// Returns the op that moved the channels of `value` to the front, or null.
const ir::Op* move_to_first(const ir::Value* value) {
  const ir::Op* op = value->producer;
  const std::size_t rank = value->type.shape.size();
  return op != nullptr && (rank == 4 || rank == 5) && op->name() == "transpose" &&
                 get_attribute<Integers>(op->attributes, "permutation") == to_first(rank)
             ? op
             : nullptr;
}

bool reads_channels_last(const ir::Op& op) {
  return std::any_of(op.operands.begin(), op.operands.end(),
                     [](const ir::Value* operand) { return move_to_first(operand) != nullptr; });
}

// Rewrites elementwise(transpose(x), y) to transpose(elementwise(x, inverse transpose of y)).
Replacement sink_elementwise(ir::Builder& b, ir::Op& op) {
  std::vector<ir::Value*> operands;
  for (ir::Value* operand : op.operands) {
    const ir::Op* moved = move_to_first(operand);
    operands.push_back(moved != nullptr ? moved->operands[0] : channels_to_last(b, operand));
  }
  ir::Value* result = b.make(op.name(), std::move(operands), op.attributes);
  return {{channels_to_first(b, result)}};
}

// A reduction of a transposed image becomes a reduction of the image along other axes, if the
// remaining axes keep their order.
Replacement sink_reduction(ir::Builder& b, ir::Op& op) {
  const ir::Op* moved = move_to_first(op.operands[0]);
  const Integers& order = to_first(op.operands[0]->type.shape.size());
  const auto rank = static_cast<std::int64_t>(order.size());
  Integers axes = get_attribute<Integers>(op.attributes, "axes");
  if (axes.empty()) {
    axes.resize(order.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (std::int64_t& axis : axes) {
    axis = order[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
  }
  std::sort(axes.begin(), axes.end());
  Integers kept;  // in the order of the original result
  for (const std::int64_t axis : order) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) kept.push_back(axis);
  }
  const bool keep = get_attribute<bool>(op.attributes, "keep");
  if (!keep && !std::is_sorted(kept.begin(), kept.end())) return std::nullopt;
  Attributes attributes = op.attributes;
  set_attribute(attributes, "axes", axes);
  ir::Value* result = b.make(op.name(), {moved->operands[0]}, std::move(attributes));
  return {{keep ? channels_to_first(b, result) : result}};
}

Replacement sink(ir::Builder& b, ir::Op& op) {
  if (op.operands.empty() || op.results.size() != 1 || !reads_channels_last(op)) {
    return std::nullopt;
  }
  if (op.has(ir::Trait::elementwise)) return sink_elementwise(b, op);
  const bool sums = op.has(ir::Trait::reduction) && has_attribute(op.attributes, "axes");
  return sums ? sink_reduction(b, op) : std::nullopt;
}

}  // namespace

void use_channels_last(ir::Program& program) {
  const int converted =
      rewrite(program, [&](ir::Builder& b, ir::Op& op) { return convert(b, op); });
  if (converted == 0) return;
  rewrite(program, [&](ir::Builder& b, ir::Op& op) { return sink(b, op); });
  simplify(program);
}

}  // namespace trireme::transforms
