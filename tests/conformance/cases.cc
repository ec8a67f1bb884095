#include "cases.h"

#include <algorithm>
#include <cmath>
#include <functional>

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
    text += " " + a.name + "=" + ir::print_attribute(a.value);
  }
  return text;
}

void fill(Case& c, const ops::Sample& sample, std::uint64_t seed) {
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    const auto [low, high] = i < sample.ranges.size() ? sample.ranges[i]
                                                      : std::pair(sample.low, sample.high);
    ops::RefTensors& to = c.operands[i]->kind == ir::ValueKind::parameter ? c.parameters : c.inputs;
    const std::vector<std::int64_t> shape = evaluate(sample.operands[i].shape, {});
    to[c.operands[i]->name] = random_tensor(shape, sample.operands[i].dtype, low, high, seed + i);
  }
}

// The types of `sample` with the first dimension of float operands called `batch`.
std::vector<ir::Type> with_symbol(const ops::Sample& sample) {
  std::vector<ir::Type> types = sample.operands;
  for (ir::Type& type : types) {
    if (!type.shape.empty()) type.shape[0] = batch;
  }
  return types;
}

Case make_case(const ops::Op& op, const ops::Sample& sample, const std::vector<ir::Type>& types,
               std::string label) {
  Case c;
  c.op = op.name;
  c.label = std::move(label);
  c.twin = op.twin;
  c.tolerance = sample.tolerance;
  c.updates = op.has(ir::Trait::side_effect);
  c.check_gradient = sample.check_gradient;
  c.program = std::make_unique<Program>("case");
  ir::Program& program = c.program->ir();
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    c.operands.push_back(c.updates && i == 0
                             ? program.add_parameter(name, types[i], {}, true, {})
                             : program.add_input(name, types[i]));
  }
  const ir::Op* made = program.append(program.main(), op.name, c.operands, sample.attributes, {});
  c.attributes = made->attributes;
  for (const auto& result : made->results) c.results.push_back(result.get());
  if (c.updates) c.results.push_back(c.operands[0]);
  if (op.gradient && !op.has(ir::Trait::not_differentiable)) differentiate(c);
  return c;
}

// Numbers that the case is run with when `batch` is `size`.
void resize(Case& c, const ops::Sample& sample, std::int64_t size, std::uint64_t seed) {
  ops::Sample sized = sample;
  for (ir::Type& type : sized.operands) type.shape[0] = size;
  fill(c, sized, seed);
}

// Weights follow the results' shapes.
void fill_weights(Case& c, std::int64_t size, std::uint64_t seed) {
  for (const ir::Value* weight : c.weights) {
    if (!weight) continue;
    const auto shape = evaluate(weight->type.shape, {{"batch", size}});
    c.inputs[weight->name] = random_tensor(shape, weight->type.dtype, 0.5, 1.5, ++seed);
  }
}

bool can_have_symbol(const ops::Sample& sample) {
  const auto first = [](const ir::Type& type) {
    return type.shape.empty() ? Dim(-1) : type.shape[0];
  };
  return !sample.operands.empty() &&
         std::all_of(sample.operands.begin(), sample.operands.end(), [&](const ir::Type& type) {
           return is_float(type.dtype) && !type.shape.empty() &&
                  first(type) == first(sample.operands[0]);
         });
}

void add_symbolic(const ops::Op& op, const ops::Sample& sample, const std::string& label,
                  std::vector<Case>& cases) {
  const std::int64_t own = sample.operands[0].shape[0].constant();
  for (std::int64_t size : {own, std::int64_t{0}, own + 4}) {
    const std::string sized = label + " batch=" + std::to_string(size);
    try {
      Case c = make_case(op, sample, with_symbol(sample), sized);
      resize(c, sample, size, seed_of(sized));
      fill_weights(c, size, seed_of(sized) + 99);
      cases.push_back(std::move(c));
    } catch (const Error&) {
      return;  // the attributes name the size: nothing to derive
    }
  }
}

}  // namespace

ops::RefTensor random_tensor(const std::vector<std::int64_t>& shape, DType type, double low,
                             double high, std::uint64_t seed) {
  ops::RefTensor tensor(shape);
  for (std::size_t i = 0; i < tensor.data.size(); ++i) {
    const double unit = ops::uniform_number(ops::random_words(seed, 77, i), DType::f64);
    const double x = low + (high - low) * unit;
    tensor.data[i] = is_float(type) ? static_cast<double>(static_cast<float>(x)) : std::floor(x);
  }
  return tensor;
}

void differentiate(Case& c) {
  ir::Program& program = c.program->ir();
  for (ir::Value* operand : c.operands) {
    if (is_float(operand->type.dtype)) c.wanted.push_back(operand);
  }
  for (ir::Value* result : c.results) {
    c.weights.push_back(nullptr);
    if (!is_float(result->type.dtype)) continue;
    c.weights.back() =
        program.add_input("weight" + std::to_string(c.weights.size()), result->type);
    Value part = sum(Value(result) * Value(c.weights.back()));
    if (c.loss && c.loss->type.dtype != part.dtype()) part = cast(part, {.dtype = c.loss->type.dtype});
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
    Case c = make_case(op, sample, sample.operands, label);
    fill(c, sample, seed_of(label));
    fill_weights(c, 0, seed_of(label) + 99);
    cases.push_back(std::move(c));
    if (can_have_symbol(sample)) add_symbolic(op, sample, label, cases);
  }
  return cases;
}

}  // namespace trireme::conformance
