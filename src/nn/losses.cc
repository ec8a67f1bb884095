#include "nn/losses.h"

#include "nn/layer.h"
#include "trireme/nn.h"

namespace trireme {
namespace {

// Returns x minus its maximum along `axis`. The maximum cancels in the results, so it needs no
// gradient.
Value shifted(const Value& x, int axis) {
  const Value top = stop_gradient(reduce_max(x, {.axes = {axis}}));
  return x - nn::spread(top, x, nn::axes_but(axis, x.rank()));
}

int checked_axis(const Value& x, int axis, const char* what) {
  const int rank = x.rank();
  if (axis < -rank || axis >= rank) {
    nn::fail_layer(what, "there is no axis " + std::to_string(axis), "", x);
  }
  return axis < 0 ? axis + rank : axis;
}

}  // namespace

Value softmax(const Value& x, int axis, SourceLocation where) {
  const nn::LocationScope at(x, "softmax", where);
  axis = checked_axis(x, axis, "softmax");
  const Value e = exp(shifted(x, axis));
  return e / nn::spread(sum(e, {.axes = {axis}}), x, nn::axes_but(axis, x.rank()));
}

Value log_softmax(const Value& x, int axis, SourceLocation where) {
  const nn::LocationScope at(x, "log_softmax", where);
  axis = checked_axis(x, axis, "log_softmax");
  const Value z = shifted(x, axis);
  const Value total = log(sum(exp(z), {.axes = {axis}}));
  return z - nn::spread(total, x, nn::axes_but(axis, x.rank()));
}

}  // namespace trireme

namespace trireme::nn {

void require_same(const char* what, const Value& x, const Value& target) {
  if (x.shape() == target.shape() && x.dtype() == target.dtype()) return;
  fail_layer(what, "prediction and target differ: " + x.str() + ", " + target.str(),
             "reshape one of them; broadcasting would add differences of unrelated elements", x);
}

void require_labels(const char* what, const Value& logits, const Value& label) {
  const int rank = logits.rank();
  const Shape expected(logits.shape().begin(), logits.shape().end() - (rank > 0 ? 1 : 0));
  if (rank > 0 && is_integer(label.dtype()) && label.shape() == expected) return;
  fail_layer(
      what, "logits [..., classes] need integer labels [...]: " + logits.str() + ", " + label.str(),
      label.rank() == rank ? "reshape the labels to " + str(expected) : "", logits);
}

std::int64_t require_table(Layer& layer, const Value& hidden, const Value& label,
                           const Value& weight, const Value& bias, const RowNames& rows) {
  const auto text = [](const Value& x) { return x ? x.str() : std::string("empty"); };
  layer.require(hidden.rank() == 2 && is_arithmetic_float(hidden.dtype()),
                "hidden must be floats [batch, width]");
  layer.require(label.dtype() == DType::i64 && label.shape() == Shape{hidden.dim(0)},
                "the labels must be i64" + str({hidden.dim(0)}) + ", but are " + label.str());
  layer.require(weight && weight.rank() == 2 && weight.dim(1) == hidden.dim(1) &&
                    weight.dtype() == hidden.dtype() && weight.dim(0).is_constant(),
                std::string("the table of ") + rows.table + " must be " +
                    std::string(name_of(hidden.dtype())) + "[" + rows.axis + ", " +
                    hidden.dim(1).str() + "], but is " + text(weight));
  layer.require(
      !bias || (bias.shape() == Shape{weight.dim(0)} && bias.dtype() == hidden.dtype()),
      "the bias needs a number for each row of " + weight.str() + ", but is " + text(bias));
  return weight.dim(0).constant();
}

void require_option(bool holds, const char* what, const std::string& message, const Value& x) {
  if (!holds) fail_layer(what, message, "", x);
}

Value label_mask(LocationScope& at, const Value& logits, const Value& label) {
  const int rank = logits.rank();
  const std::int64_t last = rank - 1;
  const Value classes =
      at.make("iota", {{"axis", last}, {"dtype", label.dtype()}, {"shape", logits.shape()}});
  return equal(spread(label, logits, axes_but(rank - 1, rank)), classes);
}

// A comparison with the class numbers selects the label's logarithm without a gather and without a
// scatter in the gradient, so that it stays one fused kernel.
Value cross_entropy(const Value& logits, const Value& label, CrossEntropyOptions options,
                    SourceLocation where) {
  LocationScope at(logits, "cross_entropy", where);
  const LocationScope at_label(label, "cross_entropy", where);
  require_labels("cross_entropy", logits, label);
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing < 1)) {
    fail_layer("cross_entropy", "label_smoothing must be in [0, 1)", "", logits);
  }
  const std::int64_t last = logits.rank() - 1;
  const Value logs = log_softmax(logits, -1, where);
  const Value picked =
      sum(trireme::where(label_mask(at, logits, label), logs, 0.0), {.axes = {last}});
  if (smoothing == 0) return -picked;
  return picked * (smoothing - 1) - mean(logs, {.axes = {last}}) * smoothing;
}

// t softplus(-x) + (1 - t) softplus(x) neither overflows nor cancels.
Value binary_cross_entropy_with_logits(const Value& x, const Value& target, SourceLocation where) {
  const LocationScope at(x, "binary_cross_entropy_with_logits", where);
  require_same("binary_cross_entropy_with_logits", x, target);
  return target * softplus(-x, where) + (1.0 - target) * softplus(x, where);
}

Value mse(const Value& x, const Value& target, SourceLocation where) {
  const LocationScope at(x, "mse", where);
  require_same("mse", x, target);
  const Value d = x - target;
  return d * d;
}

Value l1(const Value& x, const Value& target, SourceLocation where) {
  const LocationScope at(x, "l1", where);
  require_same("l1", x, target);
  return abs(x - target);
}

Value huber(const Value& x, const Value& target, HuberOptions options, SourceLocation where) {
  const LocationScope at(x, "huber", where);
  require_same("huber", x, target);
  const Value d = x - target;
  const Value size = abs(d);
  return trireme::where(size <= options.delta, d * d * 0.5,
                        (size - options.delta / 2) * options.delta);
}

}  // namespace trireme::nn
