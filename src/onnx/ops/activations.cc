// Activation functions.

#include <numbers>

#include "onnx/ops/operators.h"
#include "trireme/functions.h"
#include "trireme/loss.h"
#include "trireme/nn.h"
#include "trireme/numeric.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

void import_celu(NodeContext& n) {
  const Value x = n.value(0);
  const double alpha = n.number("alpha", 1);
  n.set(0, maximum(x, 0.0) + minimum(expm1(x / alpha) * alpha, 0.0));
}

void import_elu(NodeContext& n) {
  const Value x = n.value(0);
  n.set(0, where(less(x, 0.0), expm1(x) * n.number("alpha", 1), x));
}

Value gelu(const Value& x, const std::string& approximate) {
  if (approximate == "tanh") {
    const double scale = std::sqrt(2 / std::numbers::pi);
    return x * 0.5 * (tanh((x + x * x * x * 0.044715) * scale) + 1.0);
  }
  return x * 0.5 * (erf(x * std::sqrt(0.5)) + 1.0);
}

void import_gelu(NodeContext& n) { n.set(0, gelu(n.value(0), n.text("approximate", "none"))); }

void import_hard_sigmoid(NodeContext& n) {
  const Value line = n.value(0) * n.number("alpha", 0.2) + n.number("beta", 0.5);
  n.set(0, minimum(maximum(line, 0.0), 1.0));
}

void import_hard_swish(NodeContext& n) {
  const Value x = n.value(0);
  n.set(0, x * minimum(maximum(x / 6.0 + 0.5, 0.0), 1.0));
}

void import_leaky_relu(NodeContext& n) {
  const Value x = n.value(0);
  n.set(0, where(less(x, 0.0), x * n.number("alpha", 0.01), x));
}

void import_mish(NodeContext& n) {
  const Value x = n.value(0);
  n.set(0, x * tanh(log1p_exp(x)));
}

// Before version 7 the slopes are those of the channels, axis 1.
void import_prelu(NodeContext& n) {
  const Value x = n.value(0);
  Value slope = n.value(1);
  if (n.version() < 7 && slope.rank() == 1 && slope.dim(0) != Dim(1) && x.rank() > 1) {
    Shape shape(static_cast<std::size_t>(x.rank()) - 1, Dim(1));
    shape[0] = slope.dim(0);
    slope = reshape(slope, {.shape = shape});
  }
  const Value zero = zeros_like(x);
  n.set(0, where(less(x, zero), x * slope, x));
}

void import_relu(NodeContext& n) { n.set(0, maximum(n.value(0), 0.0)); }

void import_selu(NodeContext& n) {
  const Value x = n.value(0);
  const double alpha = n.number("alpha", 1.67326319217681884765625);
  const double gamma = n.number("gamma", 1.05070102214813232421875);
  n.set(0, where(less(x, 0.0), expm1(x) * (alpha * gamma), x * gamma));
}

void import_shrink(NodeContext& n) {
  const Value x = n.value(0);
  const double lambda = n.number("lambd", 0.5), bias = n.number("bias", 0);
  const bool whole = is_integer(x.dtype());
  const Value number = whole ? cast(x, {.dtype = f64}) : x;
  const Value result = where(less(number, -lambda), number + bias,
                             where(less_equal(number, lambda), 0.0, number - bias));
  n.set(0, whole ? cast(result, {.dtype = x.dtype()}) : result);
}

void import_softplus(NodeContext& n) { n.set(0, log1p_exp(n.value(0))); }

void import_softsign(NodeContext& n) {
  const Value x = n.value(0);
  n.set(0, x / (abs(x) + 1.0));
}

void import_sigmoid(NodeContext& n) { n.set(0, sigmoid(n.value(0))); }

void import_swish(NodeContext& n) {
  const Value x = n.value(0);
  n.set(0, x * sigmoid(x * n.number("alpha", 1)));
}

void import_thresholded_relu(NodeContext& n) {
  const Value x = n.value(0);
  n.set(0, where(less_equal(x, n.number("alpha", 1)), 0.0, x));
}

// Before version 13 all axes from `axis` on were one.
template <auto function>
void along_axis(NodeContext& n) {
  const Value x = n.value(0);
  const int rank = x.rank();
  const int axis = n.axis(n.integer("axis", n.version() < 13 ? 1 : -1), rank);
  if (n.version() >= 13 || axis == rank - 1) return n.set(0, function(x, axis));
  const Dim inner = product(Shape(x.shape().begin() + axis, x.shape().end()));
  const Dim outer = product(Shape(x.shape().begin(), x.shape().begin() + axis));
  const Value flat = reshape(x, {.shape = {outer, inner}});
  n.set(0, reshape(function(flat, 1), {.shape = x.shape()}));
}

// 1 at the first largest element, 0 elsewhere.
Value hardmax(const Value& x, int axis) {
  const Value place = argmax(x, {.axes = {axis}, .keep = true});
  const Value at = iota(Program::of(x), {.shape = x.shape(), .axis = axis});
  return cast(equal(at, place), {.dtype = x.dtype()});
}

Value softmax_of(const Value& x, int axis) { return trireme::softmax(x, axis); }
Value log_softmax_of(const Value& x, int axis) { return trireme::log_softmax(x, axis); }

constexpr Operator kActivationsOperators[] = {
    {"", "Celu", import_celu},
    {"", "Elu", import_elu},
    {"", "Gelu", import_gelu},
    {"", "HardSigmoid", import_hard_sigmoid},
    {"", "HardSwish", import_hard_swish},
    {"", "Hardmax", along_axis<hardmax>},
    {"", "LeakyRelu", import_leaky_relu},
    {"", "LogSoftmax", along_axis<log_softmax_of>},
    {"", "Mish", import_mish},
    {"", "PRelu", import_prelu},
    {"", "Relu", import_relu},
    {"", "Selu", import_selu},
    {"", "Shrink", import_shrink},
    {"", "Sigmoid", import_sigmoid},
    {"", "Softmax", along_axis<softmax_of>},
    {"", "Softplus", import_softplus},
    {"", "Softsign", import_softsign},
    {"", "Swish", import_swish},
    {"", "ThresholdedRelu", import_thresholded_relu},
};

}  // namespace

Operators activation_operators() { return kActivationsOperators; }

}  // namespace trireme::onnx
