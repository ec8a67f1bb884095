// Losses of classes.

#include "onnx/ops/operators.h"
#include "onnx/tensor.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

// The negative logarithms of the targets' probabilities, weighted and reduced. Axis 1 of
// `log_probabilities` counts the classes.
Value loss_of(NodeContext& n, const Value& log_probabilities) {
  const Value target = cast(n.value(1), {.dtype = i64});
  const DType dtype = log_probabilities.dtype();
  const std::string reduction = n.text("reduction", "mean");
  std::optional<Value> used;  // false where the target is ignored
  if (n.attribute("ignore_index") != nullptr)
    used = not_equal(target, static_cast<double>(n.integer("ignore_index")));
  const Value wide = unsqueeze(target, 1);
  Value loss = -squeeze(take_along_axis(log_probabilities, wide, {.axis = 1}), {1});
  Value weight;
  if (n.has(2)) weight = gather(n.value(2), target);
  else if (used && reduction == "mean")
    weight = constant(n.program(), {.value = 1, .dtype = dtype, .shape = target.shape()});
  if (used) {
    loss = where(*used, loss, 0.0);
    if (weight) weight = where(*used, weight, 0.0);
  }
  if (n.has(2)) loss = loss * weight;
  if (reduction == "none") return loss;
  if (reduction == "sum") return sum(loss);
  n.require(reduction == "mean", "its reduction is \"" + reduction + "\"");
  return weight ? sum(loss) / sum(weight) : mean(loss);
}

void import_negative_log_likelihood(NodeContext& n) { n.set(0, loss_of(n, n.value(0))); }

void import_softmax_cross_entropy(NodeContext& n) {
  const Value log_probabilities = log_softmax(n.value(0), 1);
  n.set(0, loss_of(n, log_probabilities));
  n.set(1, log_probabilities);
}

constexpr Operator kLossesOperators[] = {
    {"", "NegativeLogLikelihoodLoss", import_negative_log_likelihood},
    {"", "SoftmaxCrossEntropyLoss", import_softmax_cross_entropy},
};

}  // namespace

Operators loss_operators() { return kLossesOperators; }

}  // namespace trireme::onnx
