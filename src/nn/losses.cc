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

// The loss of each label from the logarithms of the probabilities.
Value label_loss(LocationScope& at, const char* what, const Value& logs, const Value& label,
                 const CrossEntropyOptions& options, const SourceLocation& where) {
  const Value checked = checked_labels(label, logs.dim(-1), options.ignore_index);
  const std::int64_t last = logs.rank() - 1;
  const Value of_class = class_weights(what, "class_weights", logs, options.class_weights, where);
  const Value mask = label_mask(at, logs, checked);
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

}  // namespace

Value class_weights(const char* what, const char* name, const Value& x,
                    const std::vector<double>& weights, const SourceLocation& where) {
  if (weights.empty()) return {};
  require_option(x.rank() >= 1 && x.dim(-1) == Dim(static_cast<std::int64_t>(weights.size())), what,
                 "there are " + std::to_string(weights.size()) + " class weights for " +
                     (x.rank() >= 1 ? x.dim(-1).str() : "no") + " classes",
                 x);
  for (const double weight : weights) {
    require_option(
        weight >= 0 && std::isfinite(weight), what,
        "a class weight must be a finite number, at least 0, but one is " + std::to_string(weight),
        x);
  }
  Layer layer(x, what, "", where);
  const Value all =
      layer.parameter(name, x.dtype(), {x.dim(-1)}, values(weights), /*trainable=*/false);
  return spread(stop_gradient(all), x, {x.rank() - 1});
}

// A comparison with the class numbers selects the label's logarithm without a gather and without a
// scatter in the gradient, so that it stays one fused kernel.
Value cross_entropy(const Value& logits, const Value& label, const CrossEntropyOptions& options,
                    SourceLocation where) {
  LocationScope at(logits, "cross_entropy", where);
  const LocationScope at_label(label, "cross_entropy", where);
  require_labels("cross_entropy", logits, label);
  require_option(options.label_smoothing >= 0 && options.label_smoothing < 1, "cross_entropy",
                 "label_smoothing must be in [0, 1)", logits);
  return label_loss(at, "cross_entropy", log_softmax(logits, -1, where), label, options, where);
}

Value nll(const Value& log_probability, const Value& label, const NllOptions& options,
          SourceLocation where) {
  LocationScope at(log_probability, "nll", where);
  const LocationScope at_label(label, "nll", where);
  require_labels("nll", log_probability, label);
  require_option(is_arithmetic_float(log_probability.dtype()), "nll",
                 "the logarithms must be floats", log_probability);
  return label_loss(at, "nll", log_probability, label,
                    {.ignore_index = options.ignore_index,
                     .class_weights = options.class_weights,
                     .reduction = options.reduction},
                    where);
}

// t softplus(-x) + (1 - t) softplus(x) neither overflows nor cancels.
Value binary_cross_entropy_with_logits(const Value& x, const Value& target,
                                       BinaryCrossEntropyOptions options, SourceLocation where) {
  const LocationScope at(x, "binary_cross_entropy_with_logits", where);
  require_same("binary_cross_entropy_with_logits", x, target);
  require_option(options.pos_weight >= 0, "binary_cross_entropy_with_logits",
                 "pos_weight must not be negative", x);
  Value share = options.pos_weight == 1 ? target : target * options.pos_weight;
  const Value of_class = class_weights("binary_cross_entropy_with_logits", "pos_weights", x,
                                       options.pos_weights, where);
  if (of_class) share = share * of_class;
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
