#include "generate.h"

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/philox.h"
#include "generator.h"
#include "ops/common.h"
#include "ops/philox.h"
#include "transforms/autodiff.h"
#include "trireme/functions.h"
#include "trireme/ops.h"

namespace trireme::differential {
namespace {

constexpr std::int64_t kSizes[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};

// Whether f32 and f64 agree on all operands. The samples of other ops, such as svd(), say by their
// tolerance that results depend on the condition of a matrix; conformance compares those.
bool is_well_conditioned(const ops::Op& op) {
  return std::all_of(op.samples.begin(), op.samples.end(),
                     [](const ops::Sample& sample) { return sample.tolerance < 1e-4; });
}

bool is_tried(const ops::Op& op) {
  using ir::Trait;
  // host_call needs functions of the user; ops with blocks are made by control steps.
  return !op.has(Trait::internal) && !op.has(Trait::side_effect) && op.reference &&
         op.control == ir::ControlFlow::none && op.name != "host_call" && !op.samples.empty() &&
         is_well_conditioned(op);
}

std::vector<const ops::Op*> tried_ops() {
  std::vector<const ops::Op*> all;
  for (const std::string& name : ops::catalog().names()) {
    const ops::Op* op = ops::catalog().find(name);
    if (is_tried(*op)) all.push_back(op);
  }
  return all;
}

// Whether the sample has labels of sequences. They must be classes, whose number is a size,
// and the evaluator's loops over alignments grow fast with the sizes: such samples keep theirs.
bool has_labels(const ops::Sample& sample) {
  bool splits = false, labels = false;
  for (const ir::Type& type : sample.operands) {
    splits = splits || !type.splits_of.empty();
    labels = labels || (is_integer(type.dtype) && type.splits_of.empty());
  }
  return splits && labels;
}

// Throws if the type rule refuses the operands, before inputs for them are made.
void check_types(const ops::Op& op, const std::vector<ir::Type>& types,
                 const Attributes& attributes) {
  std::vector<ir::Value> values(types.size());
  std::vector<ir::Value*> operands;
  for (std::size_t i = 0; i < types.size(); ++i) {
    values[i].type = types[i];
    values[i].kind = ir::ValueKind::argument;
    values[i].name = "x" + std::to_string(i);
    operands.push_back(&values[i]);
  }
  try {
    ir::result_types(op, operands, ir::complete_attributes(op, attributes), {});
  } catch (const ir::TypeError& error) {
    fail_usage(error.message);
  }
}

std::int64_t elements_of(const Shape& shape) {
  std::int64_t n = 1;
  for (const Dim& d : shape) n *= d.constant();
  return n;
}

Value broadcast_zero(const Value& like, std::int64_t count) {
  return ops::emit_in(*like.get()->program, "constant",
                      {{"value", 0.0}, {"shape", Shape{count}}, {"dtype", like.dtype()}},
                      SourceLocation::current())[0];
}

// The first elements of `value`, padded with zeros.
Value reshaped(const Value& value, const Shape& shape) {
  const std::int64_t has = elements_of(value.shape()), wanted = elements_of(shape);
  Value flat = reshape(value, {.shape = {has}});
  if (has > wanted) flat = slice(flat, {.starts = {0}, .limits = {wanted}});
  if (has < wanted) {
    flat = concat({flat, broadcast_zero(flat, wanted - has)});
  }
  return reshape(flat, {.shape = shape});
}

ops::RefTensor random_splits(const NumbersSpec& spec, const SymbolSizes& sizes) {
  const double rows = static_cast<double>(Dim::parse(spec.type.splits_of)->evaluate(sizes));
  ops::RefTensor splits(evaluate(spec.type.shape, sizes));
  std::mt19937_64 random(spec.seed);
  for (double& x : splits.data)
    x = std::floor(static_cast<double>(random() % 1000) / 1000 * (rows + 1));
  std::sort(splits.data.begin(), splits.data.end());
  if (splits.data.empty()) return splits;
  splits.data.front() = 0;
  splits.data.back() = rows;
  return splits;
}

}  // namespace

Generator::Generator(std::uint64_t seed) : random_(seed) {
  generated_.program = std::make_unique<Program>("random");
  generated_.seed = seed;
  sizes_ = sizes_of(seed, first_batch(seed));
}

std::optional<Generated> Generator::make() {
  const int steps = 1 + below(10);
  for (int i = 0; i < steps; ++i) step();
  choose_fetches();
  if (generated_.fetches.empty()) return std::nullopt;
  if (!one_in(4)) differentiate();
  return std::move(generated_);
}

// --- Steps ------------------------------------------------------------------------------------

void Generator::step() {
  try {
    switch (below(12)) {
      case 0:
      case 1: keep(control_step()); break;
      case 2: keep(one_in(2) ? recurrent_step() : sequence_step()); break;
      case 3: keep(assign_step()); break;
      default: keep(op_step());
    }
  } catch (const Error&) {  // a type rule, or an op whose numbers it refuses
  }
}

Generator::Values Generator::op_step() {
  static const std::vector<const ops::Op*> ops = tried_ops();
  const ops::Op& op = *any(ops);
  const ops::Sample& sample = any(op.samples);
  if (!has_labels(sample) && !one_in(3)) {
    try {
      return apply(op, sample, resized(sample), varied(sample.attributes));
    } catch (const Error&) {  // the type rule refuses these sizes
    }
  }
  return apply(op, sample, sample.operands, sample.attributes);
}

Generator::Values Generator::apply(const ops::Op& op, const ops::Sample& sample,
                                   const std::vector<ir::Type>& types,
                                   const Attributes& attributes) {
  check_types(op, types, attributes);
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto [low, high] =
        i < sample.ranges.size() ? sample.ranges[i] : std::pair(sample.low, sample.high);
    const bool is_label = has_labels(sample) && is_integer(types[i].dtype);
    operands.emplace_back(is_label ? fresh(types[i], low, high) : pick(types[i], low, high));
  }
  if (operands.empty()) {
    return ops::emit_in(generated_.program->ir(), op.name, attributes, SourceLocation::current());
  }
  return emit(op.name, operands, attributes, SourceLocation::current());
}

// Gives each size of the sample one other size, and may make the first size of all operands a
// symbol.
std::vector<ir::Type> Generator::resized(const ops::Sample& sample) {
  std::map<std::int64_t, Dim> sizes;
  std::vector<ir::Type> types = sample.operands;
  const bool symbolic = one_in(2);
  const auto renamed = [&](const Dim& dim, bool first) -> Dim {
    const std::int64_t size = dim.constant();
    const auto found = sizes.find(size);
    if (found != sizes.end()) return found->second;
    Dim next = dim;
    if (first && symbolic) next = batch;
    else if (!one_in(3)) next = kSizes[static_cast<std::size_t>(below(std::size(kSizes)))];
    return sizes.emplace(size, next).first->second;
  };
  for (ir::Type& type : types) {
    if (!type.splits_of.empty()) continue;
    for (std::size_t i = 0; i < type.shape.size(); ++i) {
      type.shape[i] = renamed(type.shape[i], i == 0);
    }
  }
  for (ir::Type& type : types) {  // their rows are those of another operand
    if (type.splits_of.empty()) continue;
    const auto rows = sizes.find(std::stoll(type.splits_of));
    if (rows == sizes.end() || rows->second == batch) fail_usage("splits of no rows");
    const bool has_sequences = type.shape[0] != Dim(1);
    if (!has_sequences && rows->second != Dim(0)) fail_usage("rows of no sequence");
    type.splits_of = rows->second.str();
  }
  return types;
}

// Changes some attributes: the type rule decides whether they are possible.
Attributes Generator::varied(Attributes attributes) {
  for (NamedAttribute& a : attributes) {
    if (!one_in(4)) continue;
    if (auto* flag = std::get_if<bool>(&a.value)) *flag = one_in(2);
    else if (auto* number = std::get_if<std::int64_t>(&a.value)) *number += below(3) - 1;
    else if (auto* list = std::get_if<std::vector<std::int64_t>>(&a.value)) {
      if (!list->empty()) (*list)[static_cast<std::size_t>(below(list->size()))] += below(3) - 1;
    }
  }
  return attributes;
}

// --- Operands ---------------------------------------------------------------------------------

Value Generator::pick(const ir::Type& type, double low, double high) {
  if (!type.splits_of.empty() || one_in(4)) return fresh(type, low, high);
  std::vector<Value> same, others;
  for (const Value& value : pool_) {
    const ir::Type& other = value.get()->type;
    if (!other.splits_of.empty() || other.dtype != type.dtype) continue;
    (other.shape == type.shape ? same : others).push_back(value);
  }
  if (!same.empty() && !one_in(5)) return in_range(any(same), low, high);
  if (others.empty() || one_in(3)) return fresh(type, low, high);
  const Value value = any(others);
  if (!is_constant(value.shape()) || !is_constant(type.shape)) return fresh(type, low, high);
  return in_range(reshaped(value, type.shape), low, high);
}

// Moves the numbers of a float into the domain that the op's samples have.
Value Generator::in_range(const Value& value, double low, double high) {
  if (!is_arithmetic_float(value.dtype())) return value;
  if (low == -2 && high == 2 && !one_in(4)) return value;
  low = std::max(low, -kLargest), high = std::min(high, kLargest);
  return sigmoid(value) * (high - low) + low;
}

bool Generator::has_known_sizes(const ir::Type& type) const {
  return std::all_of(type.shape.begin(), type.shape.end(), [&](const Dim& dim) {
    return dim.is_constant() || (dim.symbol() && sizes_.contains(*dim.symbol()));
  });
}

Value Generator::fresh(const ir::Type& type, double low, double high) {
  if (type.splits_of.empty() && !has_known_sizes(type)) fail_usage("a size that a run decides");
  Program& program = *generated_.program;
  NumbersSpec spec{"x" + std::to_string(generated_.specs.size()), type, low, high, random_()};
  spec.is_parameter = type.dtype == DType::f32 && is_constant(type.shape) && one_in(5);
  const Value value = spec.is_parameter ? program.parameter(spec.name, type.dtype, type.shape)
                                        : Value(program.ir().add_input(spec.name, type));
  generated_.specs.push_back(spec);
  if (type.splits_of.empty()) pool_.push_back(value);
  return value;
}

Generator::Values Generator::pooled(DType dtype, const Shape& shape) const {
  Values values;
  for (const Value& value : pool_) {
    const ir::Type& type = value.get()->type;
    if (type.splits_of.empty() && type.dtype == dtype && type.shape == shape)
      values.push_back(value);
  }
  return values;
}

// --- Results ----------------------------------------------------------------------------------

// Adds results to the pool whose numbers are finite and not large.
void Generator::keep(const Values& results) {
  std::vector<const ir::Value*> wanted;
  for (const Value& value : results) wanted.push_back(value.get());
  const ops::RefTensors given = numbers_for(generated_.specs, sizes_);
  ops::RefTensors parameters = given;
  const auto numbers =
      ops::evaluate(generated_.program->ir(), given, parameters, wanted, first_run());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& data = numbers[i].data;
    const bool tame = std::all_of(data.begin(), data.end(), [](double x) {
      return std::isfinite(x) && std::abs(x) < kLargest;
    });
    if (!tame || data.size() > 20000) continue;
    pool_.push_back(results[i]);
    results_.push_back(results[i]);
  }
}

void Generator::choose_fetches() {
  std::shuffle(results_.begin(), results_.end(), random_);
  const std::size_t count =
      std::min<std::size_t>(results_.size(), 1 + static_cast<std::size_t>(below(4)));
  generated_.fetches.assign(results_.begin(),
                            results_.begin() + static_cast<std::ptrdiff_t>(count));
}

// Fetches the gradients of a sum of the fetched floats with respect to some inputs and parameters,
// or lets an optimizer lower the sum.
void Generator::differentiate() {
  Value loss;
  for (const Value& y : generated_.fetches) {
    if (!is_arithmetic_float(y.dtype())) continue;
    const ir::Type type{y.dtype(), y.shape(), ""};
    Value part = sum(has_known_sizes(type) ? tanh(y) * fresh(type, 0.5, 1.5) : tanh(y));
    if (loss && part.dtype() != loss.dtype()) part = cast(part, {.dtype = loss.dtype()});
    loss = loss ? loss + part : part;
  }
  if (!loss) return;
  std::vector<ir::Value*> wanted;
  Values parameters;
  for (const NumbersSpec& spec : generated_.specs) {
    if (!is_arithmetic_float(spec.type.dtype)) continue;
    const Value value = generated_.program->find(spec.name);
    if (spec.is_parameter) parameters.push_back(value);
    if (wanted.size() < 4 && !one_in(3)) wanted.push_back(value.get());
  }
  try {
    if (!parameters.empty() && one_in(2)) optimize(loss, parameters);
    else if (!wanted.empty()) {
      for (ir::Value* gradient : transforms::gradients(loss.get(), wanted)) {
        generated_.fetches.emplace_back(gradient);
      }
    }
  } catch (const Error&) {  // an op without a gradient
  }
}

std::optional<Generated> generate(std::uint64_t seed) { return Generator(seed).make(); }

ops::RefTensors numbers_for(const std::vector<NumbersSpec>& specs, const SymbolSizes& sizes) {
  ops::RefTensors all;
  for (const NumbersSpec& spec : specs) {
    if (!spec.type.splits_of.empty()) {
      all[spec.name] = random_splits(spec, sizes);
      continue;
    }
    ops::RefTensor tensor(evaluate(spec.type.shape, sizes));
    for (std::size_t i = 0; i < tensor.data.size(); ++i) {
      const double unit = ops::uniform_number(ops::random_words(spec.seed, 77, i), DType::f64);
      const double x = spec.low + (spec.high - spec.low) * unit;
      const DType dtype = spec.type.dtype;
      tensor.data[i] = is_arithmetic_float(dtype) ? static_cast<double>(static_cast<float>(x))
                       : is_half(dtype)           ? ops::to_dtype(x, dtype)
                                                  : std::floor(x);
    }
    all[spec.name] = std::move(tensor);
  }
  return all;
}

std::int64_t first_batch(std::uint64_t seed) {
  constexpr std::int64_t kBatches[] = {1, 2, 3, 5, 8, 17};
  return kBatches[seed % std::size(kBatches)];
}

SymbolSizes sizes_of(std::uint64_t seed, std::int64_t batch_size) {
  constexpr std::int64_t kMostPerSequence = 3;
  const std::int64_t words =
      static_cast<std::int64_t>(seed / 7) % (kMostPerSequence * batch_size + 1);
  return {{"batch", batch_size}, {"words", words}};
}

ops::EvaluateOptions first_run() {
  return {.training = true, .run_seed = seed_of_run(kSessionSeed, 0)};
}

}  // namespace trireme::differential
