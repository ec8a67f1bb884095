#include "transforms/channels_last.h"

#include <algorithm>

#include "transforms/rewrite.h"
#include "transforms/simplify.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;
using Replacement = std::optional<std::vector<ir::Value*>>;

const Integers kToLast = {0, 2, 3, 1};
const Integers kToFirst = {0, 3, 1, 2};

ir::Value* transpose(ir::Program& program, const ir::Op& like, ir::Value* x,
                     const Integers& permutation) {
  return make(program, like, "transpose", {x}, {{"permutation", permutation}});
}

bool has_layout(const ir::Op& op) { return !op.def->image_operands.empty(); }

// The op in channels-last layout between transposes.
Replacement convert(ir::Program& program, ir::Op& op) {
  if (!has_layout(op) || ir::get<std::string>(op.attributes, "layout") != "nchw") {
    return std::nullopt;
  }
  std::vector<ir::Value*> operands = op.operands;
  for (const int i : op.def->image_operands) {
    ir::Value*& operand = operands[static_cast<std::size_t>(i)];
    operand = transpose(program, op, operand, kToLast);
  }
  Attributes attributes = op.attributes;
  ir::set(attributes, "layout", std::string("nhwc"));
  const ir::Op* converted = program.append(program.main(), op.name(), std::move(operands),
                                           std::move(attributes), op.location);
  std::vector<ir::Value*> results;
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    const auto& images = op.def->image_results;
    const bool image = std::find(images.begin(), images.end(), static_cast<int>(i)) != images.end();
    ir::Value* result = converted->result(static_cast<int>(i));
    results.push_back(image ? transpose(program, op, result, kToFirst) : result);
  }
  return results;
}

const ir::Op* to_first(const ir::Value* value) {
  const ir::Op* op = value->producer;
  return op != nullptr && op->name() == "transpose" &&
                 ir::get<Integers>(op->attributes, "permutation") == kToFirst
             ? op
             : nullptr;
}

bool reads_channels_last(const ir::Op& op) {
  return std::any_of(op.operands.begin(), op.operands.end(),
                     [](const ir::Value* operand) { return to_first(operand) != nullptr; });
}

// elementwise(transpose(x), y) is transpose(elementwise(x, inverse transpose of y)).
Replacement sink_elementwise(ir::Program& program, ir::Op& op) {
  std::vector<ir::Value*> operands;
  for (ir::Value* operand : op.operands) {
    const ir::Op* moved = to_first(operand);
    operands.push_back(moved != nullptr ? moved->operands[0]
                                        : transpose(program, op, operand, kToLast));
  }
  ir::Value* result = make(program, op, op.name(), std::move(operands), op.attributes);
  return {{transpose(program, op, result, kToFirst)}};
}

// A reduction of a transposed image reduces the image along other axes, as long as the axes that
// stay keep their order.
Replacement sink_reduction(ir::Program& program, ir::Op& op) {
  const ir::Op* moved = to_first(op.operands[0]);
  Integers axes = ir::get<Integers>(op.attributes, "axes");
  if (axes.empty()) axes = {0, 1, 2, 3};
  for (std::int64_t& axis : axes) {
    axis = kToFirst[static_cast<std::size_t>(axis < 0 ? axis + 4 : axis)];
  }
  std::sort(axes.begin(), axes.end());
  Integers kept;  // in the order of the original result
  for (const std::int64_t axis : kToFirst) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) kept.push_back(axis);
  }
  const bool keep = ir::get<bool>(op.attributes, "keep");
  if (!keep && !std::is_sorted(kept.begin(), kept.end())) return std::nullopt;
  Attributes attributes = op.attributes;
  ir::set(attributes, "axes", axes);
  ir::Value* result = make(program, op, op.name(), {moved->operands[0]}, std::move(attributes));
  return {{keep ? transpose(program, op, result, kToFirst) : result}};
}

Replacement sink(ir::Program& program, ir::Op& op) {
  if (op.operands.empty() || op.results.size() != 1 || !reads_channels_last(op)) {
    return std::nullopt;
  }
  if (op.has(ir::Trait::elementwise)) return sink_elementwise(program, op);
  const bool sums = op.has(ir::Trait::reduction) && ir::has_attribute(op.attributes, "axes");
  return sums ? sink_reduction(program, op) : std::nullopt;
}

}  // namespace

void use_channels_last(ir::Program& program) {
  const int converted = rewrite(program, [&](ir::Op& op) { return convert(program, op); });
  if (converted == 0) return;
  rewrite(program, [&](ir::Op& op) { return sink(program, op); });
  simplify(program);
}

}  // namespace trireme::transforms
