#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ir/blocks.h"
#include "ir/program.h"
#include "session/compress/unpack.h"
#include "session/model/inference_program.h"
#include "transforms/prune.h"
#include "transforms/rewrite.h"
#include "trireme/ops.h"
#include "trireme/packing.h"

namespace trireme {
namespace {

using compression::PackedTensor;
using ValueSet = std::unordered_set<const ir::Value*>;

constexpr std::int64_t kMinElements = 32;

bool is_op(const ir::Value* value, std::string_view name) {
  return value->producer != nullptr && value->producer->name() == name;
}

// Inference keeps the zero that carries the gradient of a straight-through function: v + (p - p).
void drop_straight_through(ir::Program& program) {
  transforms::rewrite(program, [](ir::Builder&, ir::Op& op) -> transforms::Replacement {
    if (op.name() != "add" || !is_op(op.operands[1], "sub")) return std::nullopt;
    const auto& zero = op.operands[1]->producer->operands;
    // Only of a choice, which is finite: other values may be infinite, with a difference of NaN.
    if (zero[0] != zero[1] || !is_op(zero[0], "where")) return std::nullopt;
    return {{op.operands[0]}};
  });
}

// What is computed from parameters alone, and the parameter from which it comes.
class Weights {
 public:
  explicit Weights(const ir::Program& program) {
    for (const auto& parameter : program.parameters()) {
      source_[parameter->value.get()] = parameter.get();
    }
    for (const auto& op : program.main().ops) add(*op);
    for (const auto& op : program.main().ops) {
      if (op->blocks.empty() && op->results.size() == 1 && is_known(op->result())) continue;
      for (std::size_t i = 0; i < op->operands.size(); ++i) use(*op, i);
      for (const auto& block : op->blocks) hide(*block);
    }
  }

  struct Use {
    ir::Value* value;
    int axis;  // of its units; -1 if the op that reads it has none
  };
  // In the order of their uses; each value once.
  std::vector<Use> uses() const {
    std::vector<Use> result;
    for (const Use& use : uses_) {
      if (!hidden_.contains(use.value)) result.push_back(use);
    }
    return result;
  }
  const ir::Parameter& source(const ir::Value* value) const { return *source_.at(value); }

 private:
  bool is_known(const ir::Value* value) const {
    return source_.contains(value) || numbers_.contains(value);
  }

  void add(const ir::Op& op) {
    using ir::Trait;
    if (op.has(Trait::random) || op.has(Trait::side_effect) || !op.blocks.empty()) return;
    if (op.results.size() != 1 || !is_constant(op.result()->type.shape)) return;
    const ir::Parameter* source = nullptr;
    for (const ir::Value* operand : op.operands) {
      if (!is_known(operand)) return;
      const auto found = source_.find(operand);
      if (source == nullptr && found != source_.end()) source = found->second;
    }
    if (source != nullptr) source_[op.result()] = source;
    else numbers_.insert(op.result());
  }

  void use(const ir::Op& op, std::size_t i) {
    ir::Value* value = op.operands[i];
    const ir::Type& type = value->type;
    if (!source_.contains(value) || type.dtype != f32 || !is_constant(type.shape)) return;
    // Repeated numbers, such as those of a bias, stay where they are.
    if (value->producer != nullptr && value->producer->has(ir::Trait::broadcast)) return;
    if (type.shape.size() < 2 || product(type.shape).constant() < kMinElements) return;
    if (!seen_.insert(value).second) return;
    int axis = -1;
    if (op.name() == "matmul" && i == 1) {
      const bool is_transposed = get_attribute<bool>(op.attributes, "transpose_b");
      axis = static_cast<int>(type.shape.size()) - (is_transposed ? 2 : 1);
    } else if (i == 1 && (op.name() == "conv2d" || op.name() == "conv3d")) {
      axis = 0;
    }
    uses_.push_back({value, axis});
  }

  // Values that nested blocks read stay as they are.
  void hide(const ir::Block& block) {
    for (const auto& op : block.ops) {
      hidden_.insert(op->operands.begin(), op->operands.end());
      for (const auto& inner : op->blocks) hide(*inner);
    }
    hidden_.insert(block.results.begin(), block.results.end());
  }

  std::unordered_map<const ir::Value*, const ir::Parameter*> source_;
  ValueSet numbers_, seen_, hidden_;
  std::vector<Use> uses_;
};

// x if the value is nn::binarize(x) in inference, also in another shape; else null.
ir::Value* binarized(const ir::Value* value) {
  if (!is_op(value, "where")) return nullptr;
  const auto& outer = value->producer->operands;
  if (transforms::known_constant(outer[1]) != 1.0 || !is_op(outer[2], "where")) return nullptr;
  const auto& inner = outer[2]->producer->operands;
  if (transforms::known_constant(inner[1]) != -1.0) return nullptr;
  ir::Value* x = inner[2];
  const auto compares = [&](const ir::Value* condition, std::string_view name, std::size_t place) {
    return is_op(condition, name) && condition->producer->operands[place] == x &&
           transforms::known_constant(condition->producer->operands[1 - place]) == 0.0;
  };
  const bool is_positive = compares(outer[0], "less_equal", 1);  // 0 <= x
  return is_positive && compares(inner[0], "less", 0) ? x : nullptr;
}

// A reshape keeps what is binarized.
ir::Value* binarized_operand(ir::Value* value) {
  if (ir::Value* x = binarized(value)) return x;
  if (value->producer == nullptr || !value->producer->has(ir::Trait::reshape)) return nullptr;
  ir::Value* x = binarized_operand(value->producer->operands[0]);
  if (x == nullptr) return nullptr;
  return reshape(Value(x), {.shape = value->type.shape}).get();
}

class Packing {
 public:
  Packing(Program& program, const PackOptions& options) : program_(program), options_(options) {}

  // Packs the weights that are small enough.
  void pack(const std::vector<Weights::Use>& uses, const std::vector<Tensor>& values,
            const Weights& weights);
  void rewrite();
  const std::vector<std::pair<std::string, Tensor>>& tensors() const { return tensors_; }
  std::vector<PackedWeight>& report() { return report_; }

 private:
  struct Entry {
    PackedTensor packed;
    compression::PackedParameters parameters;
    Value weight;        // once an op reads it
    std::size_t report;  // index
  };

  // Empty if the weight cannot be packed.
  std::optional<PackedTensor> smallest(const Tensor& value, int axis) const;
  std::string free_name(const std::string& stem) const;

  // The ops in place of a product; null if bits cannot be counted.
  ir::Value* counted(const ir::Op& op);

  Program& program_;
  const PackOptions& options_;
  std::unordered_map<const ir::Value*, Entry> entries_;
  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::vector<PackedWeight> report_;
};

std::optional<PackedTensor> Packing::smallest(const Tensor& value, int axis) const {
  std::optional<PackedTensor> one = compression::packed(value, -1, options_.max_bits);
  if (axis < 0) return one;
  std::optional<PackedTensor> units = compression::packed(value, axis, options_.max_bits);
  // Counting bits needs units.
  const bool is_counted = units && options_.count_bits && compression::is_binary(*units);
  return units && (!one || is_counted || units->bytes() < one->bytes()) ? units : one;
}

void Packing::pack(const std::vector<Weights::Use>& uses, const std::vector<Tensor>& values,
                   const Weights& weights) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    ir::Value* value = uses[i].value;
    auto best = smallest(values[i], uses[i].axis);
    const bool is_computed = value->kind != ir::ValueKind::parameter;
    if (!best && !is_computed) continue;
    const std::string name = free_name(weights.source(value).name());
    if (!best) {
      tensors_.emplace_back(name + ".folded", values[i]);
      const Value folded =
          program_.parameter(name + ".folded", f32, value->type.shape, {.trainable = false});
      entries_.emplace(value, Entry{{}, {}, folded, 0});
      continue;
    }
    report_.push_back({name, best->bits, false, static_cast<std::int64_t>(values[i].size_bytes()),
                       best->bytes()});
    tensors_.emplace_back(name + ".packed", best->words);
    tensors_.emplace_back(name + ".scales", best->scales);
    tensors_.emplace_back(
        name + ".table",
        Tensor::from<float>({static_cast<std::int64_t>(best->table.size())}, best->table));
    const auto parameters = compression::add_parameters(program_, name, *best);
    entries_.emplace(value, Entry{std::move(*best), parameters, {}, report_.size() - 1});
  }
}

std::string Packing::free_name(const std::string& stem) const {
  std::string name = stem;
  const auto is_taken = [&](const char* end) {
    return program_.ir().find_parameter(name + end) != nullptr;
  };
  for (int k = 1; is_taken(".packed") || is_taken(".folded"); ++k) {
    name = fmt::format("{}_{}", stem, k);
  }
  return name;
}

ir::Value* Packing::counted(const ir::Op& op) {
  if (!options_.count_bits || op.name() != "matmul") return nullptr;
  const auto found = entries_.find(op.operands[1]);
  if (found == entries_.end() || !compression::is_binary(found->second.packed)) return nullptr;
  const ir::Type& type = op.operands[0]->type;
  const bool is_plain = !get_attribute<bool>(op.attributes, "transpose_a") &&
                        !get_attribute<bool>(op.attributes, "transpose_b") &&
                        type.shape.size() == 2 && found->second.packed.axis == 1;
  ir::Value* x = is_plain ? binarized_operand(op.operands[0]) : nullptr;
  if (x == nullptr) return nullptr;
  report_[found->second.report].counts_bits = true;
  return compression::count_bits(Value(x), found->second.parameters, found->second.packed).get();
}

void Packing::rewrite() {
  ir::Block& block = program_.ir().main();
  std::vector<std::unique_ptr<ir::Op>> old = std::exchange(block.ops, {}), dropped;
  std::unordered_map<const ir::Value*, ir::Value*> products;
  const auto replace = [&](ir::Value*& value) {
    if (const auto product = products.find(value); product != products.end()) {
      value = product->second;
    }
    const auto found = entries_.find(value);
    if (found == entries_.end()) return;
    Entry& entry = found->second;
    if (!entry.weight) {
      entry.weight = compression::unpacked(entry.parameters, entry.packed, value->type.shape);
    }
    value = entry.weight.get();
  };
  for (std::unique_ptr<ir::Op>& op : old) {
    if (ir::Value* product = counted(*op)) {
      products.emplace(op->result(), product);
      dropped.push_back(std::move(op));
      continue;
    }
    // The ops that compute a packed weight still read its parameters; nothing needs them.
    for (ir::Value*& operand : op->operands) replace(operand);
    for (const auto& inner : op->blocks) ir::replace_uses(*inner, products);
    block.ops.push_back(std::move(op));
  }
  for (ir::Value*& result : block.results) replace(result);
  transforms::prune(program_.ir(), {.keep_side_effects = false, .drop_parameters = true});
}

void check(const std::vector<Value>& outputs, const PackOptions& options) {
  if (outputs.empty()) fail_usage("pack_weights: there are no outputs");
  if (options.max_bits < 1 || options.max_bits > 8) {
    fail_usage(fmt::format("pack_weights: max_bits is {}; it is from 1 to 8", options.max_bits));
  }
}

}  // namespace

PackedModel pack_weights(const Program& program, Session& session,
                         const std::vector<Value>& outputs, const PackOptions& options) {
  check(outputs, options);
  std::shared_ptr<ir::Program> copy = inference_program("pack_weights", program, outputs);
  drop_straight_through(*copy);
  transforms::prune(*copy, {.keep_side_effects = false, .drop_parameters = true});
  Program made(copy);
  const Weights weights(*copy);
  const std::vector<Weights::Use> uses = weights.uses();
  std::vector<Value> wanted;
  for (const Weights::Use& use : uses) wanted.emplace_back(use.value);
  std::vector<Tensor> values;
  {
    // A Session keeps its Program as it is, so the values come from a copy of their own.
    SessionOptions exact = session.options();
    exact.precision = Precision::f32;
    Session evaluation(made, exact, session);
    if (!wanted.empty()) values = evaluation.run({}, wanted);
  }
  Packing packing(made, options);
  packing.pack(uses, values, weights);
  packing.rewrite();
  ir::verify(*copy);
  PackedModel result{Program(copy), Session(made, session.options())};
  for (const auto& [name, tensor] : packing.tensors()) {
    if (made.find(name)) result.session.set_parameter(name, tensor);
  }
  for (const auto& parameter : copy->parameters()) {
    const std::string& name = parameter->name();
    if (program.find(name)) result.session.set_parameter(name, session.parameter(name));
    result.bytes += static_cast<std::int64_t>(result.session.parameter(name).size_bytes());
  }
  result.weights = std::move(packing.report());
  return result;
}

}  // namespace trireme
