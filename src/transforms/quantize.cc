// Names these ops: add, broadcast, cast, conv2d, gather, matmul, mul, round

#include "transforms/quantize.h"

#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "transforms/rewrite.h"

namespace trireme::transforms {
namespace {

using Integers = std::vector<std::int64_t>;

std::optional<QuantizableOp> quantizable(const ir::Op& op) {
  const auto flag = [&](const char* name) { return get_attribute<bool>(op.attributes, name); };
  if (op.name() == "matmul") {
    const int rank = op.result()->type.rank();
    const bool transposed = flag("transpose_b");
    if (flag("transpose_a") || op.operands[1]->type.rank() != 2) return std::nullopt;
    return QuantizableOp{.weight_axis = transposed ? 0 : 1, .result_axis = rank - 1};
  }
  if (op.name() == "conv2d") {
    if (get_attribute<std::int64_t>(op.attributes, "groups") != 1) return std::nullopt;
    const bool first = get_attribute<std::string>(op.attributes, "layout") == "nchw";
    return QuantizableOp{
        .kind = QuantizableOp::Kind::convolution, .weight_axis = 0, .result_axis = first ? 1 : 3};
  }
  if (op.name() == "gather" && op.operands[0]->type.rank() == 2 &&
      get_attribute<std::int64_t>(op.attributes, "axis") == 0) {
    return QuantizableOp{.kind = QuantizableOp::Kind::lookup,
                         .input = 1,
                         .weight = 0,
                         .weight_axis = 1,
                         .result_axis = op.result()->type.rank() - 1};
  }
  return std::nullopt;
}

// Values that depend on parameters alone, and on at least one.
class Weights {
 public:
  explicit Weights(const ir::Program& program) {
    for (const auto& op : program.main().ops) {
      if (op->has(ir::Trait::side_effect)) assigned_.insert(op->operands[0]);
    }
    for (const auto& op : program.main().ops) add(*op);
  }
  bool contains(const ir::Value* value) const {
    if (value->kind == ir::ValueKind::parameter) return !assigned_.contains(value);
    return weights_.contains(value);
  }

 private:
  void add(const ir::Op& op) {
    const bool computed = op.results.size() == 1 && op.blocks.empty() && !op.operands.empty() &&
                          !op.has(ir::Trait::random) && !op.has(ir::Trait::side_effect);
    if (!computed) return;
    for (const ir::Value* operand : op.operands) {
      if (!contains(operand)) return;
    }
    weights_.insert(op.result());
  }
  std::unordered_set<const ir::Value*> weights_, assigned_;
};

// Bytes of inputs that exist already, by the input, its scale and whether they are unsigned.
using Bytes = std::map<std::tuple<const ir::Value*, float, bool>, ir::Value*>;

ir::Value* to_bytes(ir::Builder& b, ir::Value* x, const QuantizedOperands& how, Bytes& known) {
  ir::Value*& bytes = known[{x, how.input_scale, how.is_unsigned}];
  if (bytes != nullptr) return bytes;
  const double inverse = static_cast<double>(1.0f / how.input_scale);
  ir::Value* factor = b.constant({x->type.dtype, x->type.shape, ""}, inverse);
  ir::Value* rounded = b.make("round", {b.make("mul", {x, factor})});
  bytes = b.make("cast", {rounded}, {{"dtype", how.is_unsigned ? DType::u8 : DType::i8}});
  return bytes;
}

ir::Value* along(ir::Builder& b, ir::Value* channels, int axis, const ir::Value* like) {
  return b.make("broadcast", {channels}, {{"axes", Integers{axis}}, {"shape", like->type.shape}});
}

// Parameters that a loop reads. Matrices have their output channels last.
void find_operands_of_loop(const ir::Op& op, std::size_t position, const Weights& weights,
                           std::vector<QuantizableOp>& found) {
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ir::Value* operand = op.operands[i];
    if (operand->kind != ir::ValueKind::parameter || operand->type.rank() != 2 ||
        operand->type.dtype != DType::f32 || !weights.contains(operand)) {
      continue;
    }
    found.push_back({.kind = QuantizableOp::Kind::loop,
                     .position = position,
                     .weight = static_cast<int>(i),
                     .weight_axis = 1});
  }
}

// The weight of i8 as f32.
ir::Value* to_floats(ir::Builder& b, ir::Value* bytes, ir::Value* scale, int axis) {
  ir::Value* wide = b.make("cast", {bytes}, {{"dtype", DType::f32}});
  return b.make("mul", {wide, along(b, scale, axis, wide)});
}

}  // namespace

std::vector<QuantizableOp> find_quantizable(const ir::Program& program) {
  const Weights weights(program);
  std::vector<QuantizableOp> found;
  const auto& ops = program.main().ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!ops[i]->blocks.empty()) find_operands_of_loop(*ops[i], i, weights, found);
    std::optional<QuantizableOp> one = quantizable(*ops[i]);
    if (!one) continue;
    const ir::Value* weight = ops[i]->operands[static_cast<std::size_t>(one->weight)];
    const ir::Value* input = ops[i]->operands[static_cast<std::size_t>(one->input)];
    if (weight->type.dtype != DType::f32 || !is_constant(weight->type.shape) ||
        !weights.contains(weight) || weights.contains(input)) {
      continue;
    }
    one->position = i;
    found.push_back(*one);
  }
  return found;
}

void quantize_ops(ir::Program& program,
                  const std::vector<std::pair<QuantizableOp, QuantizedOperands>>& ops) {
  using Chosen = std::pair<QuantizableOp, QuantizedOperands>;
  std::map<const ir::Op*, std::vector<const Chosen*>> chosen;
  for (const Chosen& one : ops) {
    chosen[program.main().ops[one.first.position].get()].push_back(&one);
  }
  const auto parameter = [&](const std::string& name) {
    return program.find_parameter(name)->value.get();
  };
  Bytes known;
  rewrite(program, [&](ir::Builder& b, ir::Op& op) -> Replacement {
    const auto found = chosen.find(&op);
    if (found == chosen.end()) return std::nullopt;
    using Kind = QuantizableOp::Kind;
    for (const Chosen* each : found->second) {
      const auto& [one, how] = *each;
      if (one.kind != Kind::loop) continue;
      op.operands[static_cast<std::size_t>(one.weight)] =
          to_floats(b, parameter(how.weight), parameter(how.scale), one.weight_axis);
    }
    const auto& [one, how] = *found->second.front();
    if (one.kind == Kind::loop) return std::nullopt;
    std::vector<ir::Value*> operands = op.operands;
    ir::Value*& input = operands[static_cast<std::size_t>(one.input)];
    ir::Value*& weight = operands[static_cast<std::size_t>(one.weight)];
    ir::Value* scale = parameter(how.scale);
    const bool weights_alone = one.kind != Kind::lookup && how.input_scale == 0;
    weight = parameter(how.weight);
    if (weights_alone) weight = to_floats(b, weight, scale, one.weight_axis);
    else if (one.kind != Kind::lookup) input = to_bytes(b, input, how, known);
    ir::Value* y = b.make(op.name(), operands, op.attributes);
    if (!weights_alone) {
      y = b.make("cast", {y}, {{"dtype", DType::f32}});
      y = b.make("mul", {y, along(b, scale, one.result_axis, y)});
    }
    if (!how.bias.empty()) {
      y = b.make("add", {y, along(b, parameter(how.bias), one.result_axis, y)});
    }
    return {{y}};
  });
}

}  // namespace trireme::transforms
