#include "nn/losses.h"

#include <cmath>

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
  std::string hint;
  if (label.rank() == rank) {
    const bool one_hot = rank > 0 && label.shape() == logits.shape() && label.dim(-1) != Dim(1);
    hint = one_hot ? "these are one-hot labels: argmax(label, {.axes = {-1}}) gives the integers"
                   : "reshape the labels to " + str(expected);
  } else if (is_arithmetic_float(label.dtype()) && label.shape() == expected) {
    hint = "cast the labels to i64";
  }
  fail_layer(
      what, "logits [..., classes] need integer labels [...]: " + logits.str() + ", " + label.str(),
      hint, logits);
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

Value checked_labels(const Value& label, const Dim& classes,
                     const std::optional<std::int64_t>& ignore_index) {
  if (!classes.is_constant()) return label;
  std::vector<std::int64_t> allowed;
  if (ignore_index) allowed.push_back(*ignore_index);
  const std::string count = std::to_string(classes.constant());
  return check_indices(label, {.size = classes.constant(),
                               .what = "label {} is outside [0, " + count + "), for " + count +
                                       " classes\n  hint   look at the labels that were fed",
                               .allowed = allowed});
}

Value label_mask(LocationScope& at, const Value& logits, const Value& label) {
  const int rank = logits.rank();
  const std::int64_t last = rank - 1;
  const Value classes =
      at.make("iota", {{"axis", last}, {"dtype", label.dtype()}, {"shape", logits.shape()}});
  return equal(spread(label, logits, axes_but(rank - 1, rank)), classes);
}

Value reduced(const Value& losses, const Value& weights, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  if (reduction == Reduction::sum) return sum(losses);
  if (!weights) return mean(losses);
  const Value total = sum(losses), weight = sum(weights);
  const Value has_any = 0.0 < weight;
  return trireme::where(has_any, total / trireme::where(has_any, weight, 1.0), 0.0);
}

namespace {

void check(const Value& logits, const CrossEntropyOptions& options) {
  const auto require = [&](bool holds, const std::string& message) {
    if (!holds) fail_layer("cross_entropy", message, "", logits);
  };
  require(options.label_smoothing >= 0 && options.label_smoothing < 1,
          "label_smoothing must be in [0, 1)");
  if (options.class_weights.empty()) return;
  require(logits.dim(-1) == Dim(static_cast<std::int64_t>(options.class_weights.size())),
          "there are " + std::to_string(options.class_weights.size()) + " class weights for " +
              logits.dim(-1).str() + " classes");
  for (const double weight : options.class_weights) {
    require(
        weight >= 0 && std::isfinite(weight),
        "a class weight must be a finite number, at least 0, but one is " + std::to_string(weight));
  }
}

// The weight of each class along the last axis of the logits; empty if all are 1.
Value class_weights(const Value& logits, const CrossEntropyOptions& options,
                    const SourceLocation& where) {
  if (options.class_weights.empty()) return {};
  Layer layer(logits, "cross_entropy", "", where);
  const Value weights = layer.parameter("class_weights", logits.dtype(), {logits.dim(-1)},
                                        values(options.class_weights), /*trainable=*/false);
  return spread(weights, logits, {logits.rank() - 1});
}

}  // namespace

// A comparison with the class numbers selects the label's logarithm without a gather and without a
// scatter in the gradient, so that it stays one fused kernel.
Value cross_entropy(const Value& logits, const Value& label, const CrossEntropyOptions& options,
                    SourceLocation where) {
  LocationScope at(logits, "cross_entropy", where);
  const LocationScope at_label(label, "cross_entropy", where);
  require_labels("cross_entropy", logits, label);
  check(logits, options);
  const Value checked = checked_labels(label, logits.dim(-1), options.ignore_index);
  const std::int64_t last = logits.rank() - 1;
  const Value of_class = class_weights(logits, options, where);
  const Value logs = log_softmax(logits, -1, where);
  const Value mask = label_mask(at, logits, checked);
  const Value weighted = of_class ? logs * of_class : logs;
  const Value picked = sum(trireme::where(mask, weighted, 0.0), {.axes = {last}});
  const double smoothing = options.label_smoothing;
  Value loss = smoothing == 0
                   ? -picked
                   : picked * (smoothing - 1) - mean(weighted, {.axes = {last}}) * smoothing;
  Value weight;
  if (of_class) weight = sum(trireme::where(mask, of_class, 0.0), {.axes = {last}});
  if (options.ignore_index) {
    const Value kept = not_equal(checked, static_cast<double>(*options.ignore_index));
    loss = trireme::where(kept, loss, 0.0);
    weight = weight ? trireme::where(kept, weight, 0.0) : cast(kept, {.dtype = loss.dtype()});
  }
  return reduced(loss, weight, options.reduction);
}

// t softplus(-x) + (1 - t) softplus(x) neither overflows nor cancels.
Value binary_cross_entropy_with_logits(const Value& x, const Value& target,
                                       BinaryCrossEntropyOptions options, SourceLocation where) {
  const LocationScope at(x, "binary_cross_entropy_with_logits", where);
  require_same("binary_cross_entropy_with_logits", x, target);
  require_option(options.pos_weight >= 0, "binary_cross_entropy_with_logits",
                 "pos_weight must not be negative", x);
  const Value share = options.pos_weight == 1 ? target : target * options.pos_weight;
  return reduced(share * softplus(-x, where) + (1.0 - target) * softplus(x, where), {},
                 options.reduction);
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
  const Value size = abs(d), is_small = size <= options.delta;
  const Value small = trireme::where(is_small, d, 0.0);  // its square does not overflow
  return trireme::where(is_small, small * small * 0.5, (size - options.delta / 2) * options.delta);
}

}  // namespace trireme::nn
