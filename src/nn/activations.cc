#include <cmath>
#include <utility>

#include "nn/layer.h"
#include "nn/windows.h"
#include "trireme/nn.h"

namespace trireme::nn {
namespace {

constexpr double kSqrtHalf = 0.7071067811865476;
constexpr double kSqrtTwoByPi = 0.7978845608028654;

using NamedActivation = std::pair<const char*, Value (*)(const Value&, SourceLocation)>;

constexpr NamedActivation kActivations[] = {
    {"elu", elu},
    {"gelu", gelu},
    {"gelu_tanh", gelu_tanh},
    {"hard_sigmoid", hard_sigmoid},
    {"hard_swish", hard_swish},
    {"identity", identity},
    {"leaky_relu", leaky_relu},
    {"mish", mish},
    {"relu", relu},
    {"relu6", relu6},
    {"sigmoid", sigmoid},
    {"silu", silu},
    {"softplus", softplus},
    {"tanh", tanh},
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
