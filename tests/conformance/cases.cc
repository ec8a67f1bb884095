#include "cases.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/common.h"
#include "ops/philox.h"
#include "transforms/autodiff.h"
#include "trireme/ops.h"

namespace trireme::conformance {
namespace {

std::uint64_t seed_of(const std::string& text) {
  std::uint64_t hash = 1469598103934665603u;  // FNV-1a
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

std::string label_of(const ops::Op& op, std::size_t number, const ops::Sample& sample) {
  std::string text = op.name + " #" + std::to_string(number) + " (";
  for (std::size_t i = 0; i < sample.operands.size(); ++i) {
    text += (i ? ", " : "") + sample.operands[i].str();
  }
  text += ")";
  for (const NamedAttribute& a : sample.attributes) {
    text += " " + a.name + "=" + print_attribute(a.value);
  }
  return text;
}

// Random row splits with the number of rows that `type` names; some sequences are empty.
ops::RefTensor random_splits(const ir::Type& type, std::uint64_t seed) {
  const double rows = std::stod(type.splits_of);
  ops::RefTensor splits = random_tensor({type.shape[0].constant()}, DType::i64, 0, rows + 1, seed);
  std::sort(splits.data.begin(), splits.data.end());
  splits.data.front() = 0;
  splits.data.back() = rows;
  return splits;
}

// Adds a run whose operands have the sizes of `types`. The seed of its numbers depends on the
// label.
void add_run(Case& c, const ops::Sample& sample, const std::vector<ir::Type>& types,
             const SymbolSizes& sizes, const std::string& label) {
  std::uint64_t seed = seed_of(label);
  Run run{label, {}, {}};
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    const auto [low, high] =
        i < sample.ranges.size() ? sample.ranges[i] : std::pair(sample.low, sample.high);
    const bool parameter = c.operands[i]->kind == ir::ValueKind::parameter;
    ops::RefTensors& target = parameter ? run.parameters : run.inputs;
    if (!types[i].splits_of.empty()) {
      target[c.operands[i]->name] = random_splits(types[i], ++seed);
      continue;
    }
    target[c.operands[i]->name] =
        random_tensor(evaluate(types[i].shape, sizes), types[i].dtype, low, high, ++seed);
  }
  for (const ir::Value* weight : c.weights) {
    if (!weight) continue;
    const auto shape = evaluate(weight->type.shape, sizes);
    run.inputs[weight->name] = random_tensor(shape, weight->type.dtype, 0.5, 1.5, ++seed);
  }
  c.runs.push_back(std::move(run));
}

// The types of the operands, with the symbol `batch` as the first dimension.
std::vector<ir::Type> with_symbol(const ops::Sample& sample) {
  std::vector<ir::Type> types = sample.operands;
  for (ir::Type& type : types) {
    if (!type.shape.empty()) type.shape[0] = batch;
  }
  return types;
}

Case make_case(const ops::Op& op, const ops::Sample& sample, const std::vector<ir::Type>& types) {
  Case c;
  c.op = op.name;
  c.torch_reference = op.torch_reference;
  c.tolerance = sample.tolerance;
  c.updates = op.has(ir::Trait::side_effect);
  c.check_gradient = sample.check_gradient;
  c.program = std::make_unique<Program>("case");
  ir::Program& program = c.program->ir();
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    c.operands.push_back(c.updates && i == 0 ? program.add_parameter(name, types[i], {}, true, {})
                                             : program.add_input(name, types[i]));
  }
  const ir::Op* appended =
      program.append(program.main(), op.name, c.operands, sample.attributes, {});
  c.attributes = appended->attributes;
  for (const auto& result : appended->results) c.results.push_back(result.get());
  if (c.updates) c.results.push_back(c.operands[0]);
  if (op.gradient && !op.has(ir::Trait::not_differentiable)) differentiate(c);
  return c;
}

bool can_have_symbol(const ops::Sample& sample) {
  const auto first = [](const ir::Type& type) {
    return type.shape.empty() ? Dim(-1) : type.shape[0];
  };
  return !sample.operands.empty() &&
         std::all_of(sample.operands.begin(), sample.operands.end(), [&](const ir::Type& type) {
           return is_arithmetic_float(type.dtype) && !type.shape.empty() &&
                  first(type) == first(sample.operands[0]);
         });
}

// Returns std::nullopt if the type rule rejects a symbol, for example because an attribute names
// the size.
std::optional<Case> symbolic_case(const ops::Op& op, const ops::Sample& sample,
                                  const std::string& label) {
  const std::vector<ir::Type> types = with_symbol(sample);
  std::optional<Case> c;
  try {
    c = make_case(op, sample, types);
  } catch (const Error&) {
    return std::nullopt;
  }
  const std::int64_t sample_size = sample.operands[0].shape[0].constant();
  for (std::int64_t size : {sample_size, std::int64_t{0}, sample_size + 4}) {
    add_run(*c, sample, types, {{"batch", size}}, label + " batch=" + std::to_string(size));
  }
  return c;
}

}  // namespace

ops::RefTensor random_tensor(const std::vector<std::int64_t>& shape, DType type, double low,
                             double high, std::uint64_t seed) {
  ops::RefTensor tensor(shape);
  for (std::size_t i = 0; i < tensor.data.size(); ++i) {
    const double unit = ops::uniform_number(ops::random_words(seed, 77, i), DType::f64);
    const double x = low + (high - low) * unit;
    tensor.data[i] = is_arithmetic_float(type) ? static_cast<double>(static_cast<float>(x))
                     : is_half(type)           ? ops::to_dtype(x, type)
                                               : std::floor(x);
  }
  return tensor;
}

void differentiate(Case& c) {
  ir::Program& program = c.program->ir();
  for (ir::Value* operand : c.operands) {
    if (is_arithmetic_float(operand->type.dtype)) c.wanted.push_back(operand);
  }
  for (ir::Value* result : c.results) {
    c.weights.push_back(nullptr);
    if (!is_arithmetic_float(result->type.dtype)) continue;
    c.weights.back() = program.add_input("weight" + std::to_string(c.weights.size()), result->type);
    Value part = sum(Value(result) * Value(c.weights.back()));
    if (c.loss && c.loss->type.dtype != part.dtype())
      part = cast(part, {.dtype = c.loss->type.dtype});
    c.loss = c.loss ? (Value(c.loss) + part).get() : part.get();
  }
  if (c.loss && !c.wanted.empty()) {
    c.gradients = transforms::gradients(c.loss, c.wanted);
  } else {
    c.loss = nullptr;
    c.wanted.clear();
  }
}

std::vector<Case> cases_of(const ops::Op& op) {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < op.samples.size(); ++i) {
    const ops::Sample& sample = op.samples[i];
    const std::string label = label_of(op, i, sample);
    cases.push_back(make_case(op, sample, sample.operands));
    add_run(cases.back(), sample, sample.operands, {}, label);
    if (!can_have_symbol(sample)) continue;
    if (auto symbolic = symbolic_case(op, sample, label)) cases.push_back(std::move(*symbolic));
  }
  return cases;
}

}  // namespace trireme::conformance
