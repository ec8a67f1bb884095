#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "nn/layer.h"
#include "nn/losses.h"
#include "nn/windows.h"
#include "trireme/functions.h"
#include "trireme/nn.h"

namespace trireme::nn {
namespace {

constexpr double kSqrtHalf = 0.7071067811865476;
constexpr double kSeluAlpha = 1.6732632423543772, kSeluScale = 1.0507009873554805;
constexpr double kSqrtTwoByPi = 0.7978845608028654;

using NamedActivation = std::pair<const char*, Value (*)(const Value&, SourceLocation)>;

constexpr NamedActivation kActivations[] = {
    {"celu", celu},
    {"elu", elu},
    {"gelu", gelu},
    {"gelu_tanh", gelu_tanh},
    {"hard_shrink", hard_shrink},
    {"hard_sigmoid", hard_sigmoid},
    {"hard_swish", hard_swish},
    {"hard_tanh", hard_tanh},
    {"identity", identity},
    {"leaky_relu", leaky_relu},
    {"log_sigmoid", log_sigmoid},
    {"mish", mish},
    {"relu", relu},
    {"relu6", relu6},
    {"selu", selu},
    {"sigmoid", sigmoid},
    {"silu", silu},
    {"soft_shrink", soft_shrink},
    {"softplus", softplus},
    {"softsign", softsign},
    {"tanh", tanh},
    {"tanh_shrink", tanh_shrink},
};

}  // namespace

Value identity(const Value& x, SourceLocation) { return x; }

Value relu(const Value& x, SourceLocation where) {
  const LocationScope at(x, "relu", where);
  return maximum(x, 0.0);
}

Value relu6(const Value& x, SourceLocation where) {
  const LocationScope at(x, "relu6", where);
  return minimum(maximum(x, 0.0), 6.0);
}

Value LeakyRelu::operator()(const Value& x, SourceLocation where) const {
  const LocationScope at(x, "leaky_relu", where);
  return trireme::where(x < 0.0, x * slope, x);
}
Value leaky_relu(const Value& x, SourceLocation where) { return LeakyRelu{}(x, where); }

// The branch not taken must not overflow: in the gradient, infinity times zero would be NaN. At 0
// the gradient is `scale`, as for numbers below.
Value Elu::operator()(const Value& x, SourceLocation where) const {
  const LocationScope at(x, "elu", where);
  return trireme::where(x > 0.0, x, expm1(trireme::where(x > 0.0, 0.0, x)) * scale);
}
Value elu(const Value& x, SourceLocation where) { return Elu{}(x, where); }

Value gelu(const Value& x, SourceLocation where) {
  const LocationScope at(x, "gelu", where);
  return x * 0.5 * erfc(x * -kSqrtHalf);
}

Value gelu_tanh(const Value& x, SourceLocation where) {
  const LocationScope at(x, "gelu_tanh", where);
  const Value inner = (x + x * x * x * 0.044715) * kSqrtTwoByPi;
  return x * trireme::sigmoid(inner * 2.0);  // (1 + tanh(z)) / 2 without loss of digits
}

Value silu(const Value& x, SourceLocation where) {
  const LocationScope at(x, "silu", where);
  return x * trireme::sigmoid(x);
}

Value mish(const Value& x, SourceLocation where) {
  const LocationScope at(x, "mish", where);
  return x * trireme::tanh(softplus(x, where));
}

Value softplus(const Value& x, SourceLocation where) {
  const LocationScope at(x, "softplus", where);
  return log1p_exp(x);
}

Value hard_sigmoid(const Value& x, SourceLocation where) {
  const LocationScope at(x, "hard_sigmoid", where);
  return relu6(x + 3.0, where) * (1.0 / 6.0);
}

Value hard_swish(const Value& x, SourceLocation where) {
  const LocationScope at(x, "hard_swish", where);
  return x * hard_sigmoid(x, where);
}

Value selu(const Value& x, SourceLocation where) {
  const LocationScope at(x, "selu", where);
  return Elu{.scale = kSeluAlpha}(x, where) * kSeluScale;
}

// exp is only computed of numbers that it cannot make infinite, as in Elu.
Value Celu::operator()(const Value& x, SourceLocation where) const {
  const LocationScope at(x, "celu", where);
  require_option(alpha > 0 && std::isfinite(alpha), "celu", "alpha must be above 0 and finite", x);
  const Value below = trireme::where(x > 0.0, 0.0, x);
  return trireme::where(x > 0.0, x, expm1(below / alpha) * alpha);
}
Value celu(const Value& x, SourceLocation where) { return Celu{}(x, where); }

Value HardTanh::operator()(const Value& x, SourceLocation where) const {
  const LocationScope at(x, "hard_tanh", where);
  require_option(low < high, "hard_tanh", "low must be below high", x);
  return minimum(maximum(x, low), high);
}
Value hard_tanh(const Value& x, SourceLocation where) { return HardTanh{}(x, where); }

// NaN compares false, so it takes the last branch and remains.
Value SoftShrink::operator()(const Value& x, SourceLocation where) const {
  const LocationScope at(x, "soft_shrink", where);
  require_option(lambda >= 0, "soft_shrink", "lambda must not be negative", x);
  const Value moved = trireme::where(x > 0.0, x - lambda, x + lambda);
  return trireme::where(abs(x) <= lambda, 0.0, moved);
}
Value soft_shrink(const Value& x, SourceLocation where) { return SoftShrink{}(x, where); }

Value HardShrink::operator()(const Value& x, SourceLocation where) const {
  const LocationScope at(x, "hard_shrink", where);
  require_option(lambda >= 0, "hard_shrink", "lambda must not be negative", x);
  return trireme::where(abs(x) <= lambda, 0.0, x);
}
Value hard_shrink(const Value& x, SourceLocation where) { return HardShrink{}(x, where); }

Value Threshold::operator()(const Value& x, SourceLocation where) const {
  const LocationScope at(x, "threshold", where);
  return trireme::where(x <= limit, value, x);
}
Value threshold(const Value& x, double limit, double value, SourceLocation where) {
  return Threshold{limit, value}(x, where);
}

Value Swish::operator()(const Value& x, SourceLocation where) const {
  const LocationScope at(x, "swish", where);
  return x * trireme::sigmoid(x * beta);
}
Value swish(const Value& x, double beta, SourceLocation where) { return Swish{beta}(x, where); }

Value log_sigmoid(const Value& x, SourceLocation where) {
  const LocationScope at(x, "log_sigmoid", where);
  return -log1p_exp(-x);
}

Value softsign(const Value& x, SourceLocation where) {
  const LocationScope at(x, "softsign", where);
  return x / (abs(x) + 1.0);
}

Value tanh_shrink(const Value& x, SourceLocation where) {
  const LocationScope at(x, "tanh_shrink", where);
  return x - trireme::tanh(x);
}

Value Glu::operator()(const Value& x, SourceLocation where) const {
  const LocationScope at(x, "glu", where);
  const bool exists = axis >= -x.rank() && axis < x.rank();
  require_option(exists, "glu", "there is no axis " + std::to_string(axis), x);
  const Dim& size = x.dim(axis);
  require_option(size.is_constant() && size.constant() % 2 == 0, "glu",
                 "the axis must have a constant even size, but has " + size.str(), x);
  const std::vector<Value> halves = split_evenly(x, 2, axis, where);
  return halves[0] * trireme::sigmoid(halves[1]);
}
Value glu(const Value& x, SourceLocation where) { return Glu{}(x, where); }

Value tanh(const Value& x, SourceLocation where) {
  const LocationScope at(x, "tanh", where);
  return trireme::tanh(x);
}

Value sigmoid(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sigmoid", where);
  return trireme::sigmoid(x);
}

double gain_of(const Activation& activation) {
  using Function = Value (*)(const Value&, SourceLocation);
  if (const auto* leaky = activation.target<LeakyRelu>()) {
    return std::sqrt(2 / (1 + leaky->slope * leaky->slope));
  }
  const auto* function = activation.target<Function>();
  if (function == nullptr) return std::sqrt(2.0);
  if (*function == tanh) return 5.0 / 3;
  if (*function == leaky_relu) return gain_of(LeakyRelu{});
  const bool is_one = *function == identity || *function == sigmoid || *function == hard_sigmoid;
  return is_one ? 1 : std::sqrt(2.0);
}

Initializer weight_init(const std::optional<Initializer>& given, const Activation& activation) {
  if (given) return *given;
  return activation ? kaiming_uniform(gain_of(activation)) : xavier_uniform();
}

Activation find_activation(std::string_view name) {
  for (const NamedActivation& activation : kActivations) {
    if (name == activation.first) return activation.second;
  }
  return {};
}

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const NamedActivation& activation : kActivations) names.emplace_back(activation.first);
  return names;
}

}  // namespace trireme::nn
