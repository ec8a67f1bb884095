#include "compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "generate.h"
#include "ops/common.h"
#include "ops/philox.h"
#include "trireme/session.h"

namespace trireme::differential {
namespace {

constexpr double kErrorF32 = 0x1p-21;  // of a few roundings
constexpr double kErrorBf16 = 0x1p-7;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Kind {
  const char* name;
  SessionOptions options;
};

// The first kind is always run; the others are compared with the evaluator as well.
std::vector<Kind> kinds() {
  std::vector<Kind> all = {{"1 thread", {.threads = 1}},
                           {"2 threads", {.threads = 2}},
                           {"unfused", {.threads = 1, .fuse = false}},
                           {"interpreter", {.threads = 1, .interpreter = true}},
                           {"no libraries", {.threads = 2, .libraries = false}},
                           {"bf16", {.threads = 1, .precision = Precision::bf16}}};
  for (Kind& kind : all) kind.options.seed = kSessionSeed;
  return all;
}

// The outputs, then the parameters.
std::vector<const ir::Value*> compared_values(const Program& program) {
  std::vector<const ir::Value*> values;
  for (const Value& value : program.outputs()) values.push_back(value.get());
  for (const Value& value : program.parameters()) values.push_back(value.get());
  return values;
}

// Multiplies the floats by random factors in [1 - error, 1 + error].
ops::RefTensors disturbed(const Program& program, ops::RefTensors numbers, double error,
                          std::uint64_t seed) {
  std::uint64_t draw = 0;
  for (auto& [name, tensor] : numbers) {
    const Value value = program.find(name);
    if (!value || !is_float(value.dtype())) continue;
    for (double& x : tensor.data) {
      const double unit = ops::uniform_number(ops::random_words(seed, 5, draw++), DType::f64);
      x *= 1 + error * (2 * unit - 1);
    }
  }
  return numbers;
}

Tensor to_tensor(const ops::RefTensor& from, DType dtype) {
  return Tensor::from<double>(from.shape, from.data).cast(dtype);
}

std::vector<Tensor> run(const Program& program, const ops::RefTensors& numbers,
                        const SessionOptions& options) {
  Session session(program, options);
  Feeds feeds;
  for (const Value& input : program.inputs()) {
    const std::string name = input.get()->name;
    feeds[name] = to_tensor(numbers.at(name), input.dtype());
  }
  const std::vector<Value> parameters = program.parameters();
  for (const Value& parameter : parameters) {
    const std::string name = parameter.get()->name;
    session.set_parameter(name, to_tensor(numbers.at(name), parameter.dtype()));
  }
  std::vector<Tensor> got =
      session.run(feeds, program.outputs(), {.training = true, .updates = true});
  for (const Value& parameter : parameters) {
    got.push_back(session.parameter(parameter.get()->name));
  }
  return got;
}

std::string number_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}

std::optional<std::string> compare(const std::vector<Tensor>& got, const Expected& expected) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].shape() != expected.values[i].shape) return "shape of value " + std::to_string(i);
    const Tensor wide = got[i].cast(DType::f64);
    for (std::size_t j = 0; j < expected.values[i].data.size(); ++j) {
      const double a = wide.data<double>()[j], b = expected.values[i].data[j];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      if (std::abs(a - b) <= expected.tolerances[i][j]) continue;
      if (expected.tolerances[i][j] == kInfinity) continue;
      return "value " + std::to_string(i) + ", element " + std::to_string(j) + " is " +
             number_text(a) + ", not " + number_text(b) + " (tolerance " +
             number_text(expected.tolerances[i][j]) + ")";
    }
  }
  return std::nullopt;
}

std::optional<std::string> compare_bits(const std::vector<Tensor>& a,
                                        const std::vector<Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!equal(a[i], b[i])) return "value " + std::to_string(i) + " differs from 1 thread";
  }
  return std::nullopt;
}

}  // namespace

void add_initial_values(const Program& program, ops::RefTensors& numbers) {
  std::optional<Session> session;
  for (const Value& parameter : program.parameters()) {
    const std::string name = parameter.get()->name;
    if (numbers.contains(name)) continue;
    if (!session) session.emplace(program, SessionOptions{.seed = kSessionSeed});
    const Tensor value = session->parameter(name).cast(DType::f64);
    ops::RefTensor& tensor = numbers[name] = ops::RefTensor(value.shape());
    std::copy_n(value.data<double>(), tensor.data.size(), tensor.data.begin());
  }
}

Expected expected_of(const Program& program, const ops::RefTensors& numbers, double error,
                     int repeats) {
  ops::RefTensors parameters = numbers;
  const auto wanted = compared_values(program);
  Expected expected;
  expected.values = ops::evaluate(program.ir(), numbers, parameters, wanted, first_run());
  std::vector<std::vector<double>> spread;
  for (const ops::RefTensor& value : expected.values) spread.emplace_back(value.data.size());
  for (int k = 1; k <= repeats; ++k) {
    ops::EvaluateOptions options = first_run();
    options.noise = error;
    options.noise_seed = static_cast<std::uint64_t>(k);
    std::vector<ops::RefTensor> others;
    const ops::RefTensors given = disturbed(program, numbers, error, options.noise_seed);
    try {
      parameters = given;
      others = ops::evaluate(program.ir(), given, parameters, wanted, options);
    } catch (const Error&) {  // an index that rounding decides; nothing can be compared
      for (auto& tensor : spread) std::fill(tensor.begin(), tensor.end(), kInfinity);
      break;
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
      for (std::size_t j = 0; j < spread[i].size(); ++j) {
        if (others[i].shape != expected.values[i].shape) spread[i][j] = kInfinity;
        else {
          const double change = std::abs(others[i].data[j] - expected.values[i].data[j]);
          spread[i][j] = std::isnan(change) ? kInfinity : std::max(spread[i][j], change);
        }
      }
    }
  }
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const bool is_real = is_float(wanted[i]->type.dtype);
    double largest = 0, total = 0;
    for (const double x : spread[i]) total += x;
    const double mean = spread[i].empty() ? 0 : total / static_cast<double>(spread[i].size());
    for (const double x : expected.values[i].data) {
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    }
    std::vector<double>& tolerance = expected.tolerances.emplace_back();
    for (std::size_t j = 0; j < spread[i].size(); ++j) {
      const double size = std::abs(expected.values[i].data[j]);
      if (!is_real) tolerance.push_back(spread[i][j] > 0 ? kInfinity : 0);
      else
        tolerance.push_back(16 * spread[i][j] + 4 * mean + 8 * error * size +
                            error * 1e-2 * largest + 1e-30);
    }
  }
  return expected;
}

std::optional<std::string> difference(const Program& program, const ops::RefTensors& numbers,
                                      std::uint64_t seed, bool thorough) {
  const int repeats = thorough ? 40 : 6;
  const Expected expected = expected_of(program, numbers, kErrorF32, repeats);
  std::optional<Expected> coarse;
  std::vector<Tensor> first;
  const std::vector<Kind> all = kinds();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_chosen = i == 0 || thorough || seed % (all.size() - 1) == i - 1 ||
                           seed / 7 % (all.size() - 1) == i - 1;
    if (!is_chosen) continue;
    const bool is_bf16 = all[i].options.precision == Precision::bf16;
    std::optional<std::string> found;
    try {
      const std::vector<Tensor> got = run(program, numbers, all[i].options);
      if (is_bf16 && !coarse) coarse = expected_of(program, numbers, kErrorBf16, 2 * repeats);
      found = compare(got, is_bf16 ? *coarse : expected);
      if (i == 0) first = got;
      if (!found && i == 1) found = compare_bits(first, got);
    } catch (const Error& error) {
      found = error.what();
    }
    if (found) return std::string(all[i].name) + ": " + *found;
  }
  return std::nullopt;
}

}  // namespace trireme::differential
