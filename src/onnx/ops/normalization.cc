// Normalization and dropout.

#include <cmath>
#include <numeric>

#include "onnx/ops/operators.h"
#include "onnx/ops/types.h"
#include "onnx/tensor.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/numeric.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Integers axes_between(int begin, int end) {
  Integers axes(static_cast<std::size_t>(end - begin));
  std::iota(axes.begin(), axes.end(), begin);
  return axes;
}

// Values [channels] in the shape of x, whose axis 1 has the channels.
Value by_channel(const Value& values, const Value& x) {
  Shape shape(static_cast<std::size_t>(x.rank()), Dim(1));
  shape[1] = values.dim(0);
  return reshape(values, {.shape = shape});
}

Value normalized(const Value& x, const Integers& axes, double epsilon) {
  const Value distance = x - mean(x, {.axes = axes, .keep = true});
  return distance / sqrt(mean(distance * distance, {.axes = axes, .keep = true}) + epsilon);
}

// In training mode by the statistics of the batch, which also move the running ones.
void import_batch_norm(NodeContext& n) {
  const Value x = n.value(0), scale = n.value(1), bias = n.value(2);
  Value center = n.value(3), spread = n.value(4);
  const double epsilon = n.number("epsilon", 1e-5), momentum = n.number("momentum", 0.9);
  if (n.integer("training_mode", 0) != 0) {
    Integers axes = axes_between(2, x.rank());
    axes.insert(axes.begin(), 0);
    const Value now = mean(x, {.axes = axes}), around = variance(x, VarianceOptions{.axes = axes});
    n.set(1, center * momentum + now * (1 - momentum));
    n.set(2, spread * momentum + around * (1 - momentum));
    center = now;
    spread = around;
  }
  const Value factor = scale / sqrt(spread + epsilon);
  n.set(0, x.rank() < 2
               ? (x - center) * factor + bias
               : (x - by_channel(center, x)) * by_channel(factor, x) + by_channel(bias, x));
}

void import_instance_norm(NodeContext& n) {
  const Value x = n.value(0);
  const Value y = normalized(x, axes_between(2, x.rank()), n.number("epsilon", 1e-5));
  n.set(0, y * by_channel(n.value(1), x) + by_channel(n.value(2), x));
}

// From version 21 on scale and bias are by channel, before by group.
void import_group_norm(NodeContext& n) {
  const Value x = n.value(0);
  const std::int64_t groups = n.integer("num_groups");
  const std::optional<Dim> channels = x.dim(1).divided_by(Dim(groups));
  n.require(channels.has_value(),
            std::to_string(groups) + " groups do not divide " + x.dim(1).str() + " channels");
  Shape split = x.shape();
  split[1] = *channels;
  split.insert(split.begin() + 1, Dim(groups));
  const Value parts = reshape(x, {.shape = split});
  Value y = normalized(parts, axes_between(2, parts.rank()), n.number("epsilon", 1e-5));
  if (n.version() < 21) y = y * by_channel(n.value(1), y) + by_channel(n.value(2), y);
  y = reshape(y, {.shape = x.shape()});
  if (n.version() >= 21) y = y * by_channel(n.value(1), x) + by_channel(n.value(2), x);
  n.set(0, y);
}

void import_layer_norm(NodeContext& n) {
  const Value x = n.value(0);
  const int axis = n.axis(n.integer("axis", -1), x.rank());
  const Integers axes = axes_between(axis, x.rank());
  const Value center = mean(x, {.axes = axes, .keep = true});
  const Value distance = x - center;
  const Value inverse = 1.0 / sqrt(mean(distance * distance, {.axes = axes, .keep = true}) +
                                   n.number("epsilon", 1e-5));
  Value y = distance * inverse * n.value(1);
  if (n.has(2)) y = y + n.value(2);
  n.set(0, y);
  n.set(1, center, element_type_of(center.dtype()));
  n.set(2, inverse, element_type_of(inverse.dtype()));
}

void import_rms_norm(NodeContext& n) {
  const Value x = n.value(0);
  const Integers axes = axes_between(n.axis(n.integer("axis", -1), x.rank()), x.rank());
  const Value square = mean(x * x, {.axes = axes, .keep = true}) + n.number("epsilon", 1e-5);
  n.set(0, x / sqrt(square) * n.value(1));
}

void import_lrn(NodeContext& n) {
  n.set(0, nn::local_response_norm(n.value(0), {.size = n.integer("size"),
                                                .alpha = n.number("alpha", 1e-4),
                                                .beta = n.number("beta", 0.75),
                                                .k = n.number("bias", 1)}));
}

void import_lp_normalization(NodeContext& n) {
  const Value x = n.value(0);
  const Integers axes = {n.axis(n.integer("axis", -1), x.rank())};
  const std::int64_t p = n.integer("p", 2);
  n.require(p == 1 || p == 2, "its p is " + std::to_string(p));
  const Value size =
      p == 1 ? sum(abs(x), {.axes = axes, .keep = true}) : norm(x, {.axes = axes, .keep = true});
  n.set(0, where(equal(size, 0.0), 0.0, x / size));
}

void import_mean_variance(NodeContext& n) {
  const Value x = n.value(0);
  const Integers axes = n.axes(n.integers("axes", {0, 2, 3}), x.rank());
  const Value distance = x - mean(x, {.axes = axes, .keep = true});
  n.set(0, distance / (sqrt(mean(distance * distance, {.axes = axes, .keep = true})) + 1e-9));
}

// In training mode elements are dropped at random; the second output says which are kept.
void import_dropout(NodeContext& n) {
  const Value x = n.value(0);
  const double rate = n.version() < 12 ? n.number("ratio", 0.5)
                      : n.has(1)       ? n.known_number(1, "the rate")
                                       : 0.5;
  const bool training = n.version() >= 12 && n.has(2) && n.known_number(2, "the mode") != 0;
  if (!training || rate == 0) {
    n.set(0, x);
    return n.set(1, constant(n.program(), {.value = 1, .dtype = boolean, .shape = x.shape()}));
  }
  const Value kept = random_bernoulli(
      n.program(), {.shape = x.shape(), .probability = 1 - rate, .dtype = x.dtype()});
  n.set(0, x * kept / (1 - rate));
  n.set(1, cast(kept, {.dtype = boolean}));
}

constexpr Operator kNormalizationOperators[] = {
    {"", "BatchNormalization", import_batch_norm},
    {"", "Dropout", import_dropout},
    {"", "GroupNormalization", import_group_norm},
    {"", "InstanceNormalization", import_instance_norm},
    {"", "LRN", import_lrn},
    {"", "LayerNormalization", import_layer_norm},
    {"", "LpNormalization", import_lp_normalization},
    {"", "MeanVarianceNormalization", import_mean_variance},
    {"", "RMSNormalization", import_rms_norm},
};

}  // namespace

Operators normalization_operators() { return kNormalizationOperators; }

}  // namespace trireme::onnx
