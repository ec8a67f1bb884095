#pragma once

// The losses that a job file may name. Each apply(logits, target, options) returns one number or
// losses to be averaged.

#include "nn/catalog/field.h"
#include "trireme/functions.h"
#include "trireme/loss.h"
#include "trireme/nn.h"
#include "trireme/ops.h"

namespace trireme::nn {

// The kind of target that a loss needs.
enum class Task : std::uint8_t {
  classes,  // i64[batch], a class each; the network ends in one score per class
  labels,  // i64[rows] of sequences; the network ends in scores of labels, and labels are predicted
  binary,  // zeros and ones; the network ends in a logit for each
  numbers,
};

// What the prediction is, computed from the result of the network.
enum class Output : std::uint8_t { itself, sigmoid, softmax, exponential, labels };

struct LossEntry {
  const char* name;
  const char* doc;  // of the prediction
  Task task;
  Output output;
};

// A job has one number as its loss.
inline Words<Reduction> reduction_words() {
  return {{"mean", Reduction::mean}, {"sum", Reduction::sum}};
}

template <class Visit>
void fields(Visit& visit, CrossEntropyOptions& o) {
  visit({"label_smoothing", "share of the target spread evenly over all classes", kFraction},
        o.label_smoothing);
  visit({"ignore_index", "examples with this label count neither here nor in metrics"},
        o.ignore_index);
  visit({"class_weights", "a weight of each class, such as `[1, 5]`", kNotNegative},
        o.class_weights);
  visit({"reduction", "how the losses of examples become one number"}, o.reduction,
        reduction_words());
}
template <class Visit>
void fields(Visit& visit, NllOptions& o) {
  visit({"class_weights", "a weight of each class, such as `[1, 5]`", kNotNegative},
        o.class_weights);
  visit({"reduction", "how the losses of examples become one number"}, o.reduction,
        reduction_words());
}
template <class Visit>
void fields(Visit& visit, MultiLabelMarginOptions& o) {
  visit({"margin", "distance of the scores that is enough"}, o.margin);
}
template <class Visit>
void fields(Visit& visit, MultiLabelSoftMarginOptions& o) {
  visit({"class_weights", "a weight of each label, such as `[1, 5]`", kNotNegative},
        o.class_weights);
}
template <class Visit>
void fields(Visit& visit, BinaryCrossEntropyOptions& o) {
  visit({"pos_weight", "weight of targets 1; above 1 if they are rare", kNotNegative},
        o.pos_weight);
  visit({"pos_weights", "a weight of targets 1 for each column, such as `[1, 5]`", kNotNegative},
        o.pos_weights);
  visit({"reduction", "how the losses of examples become one number"}, o.reduction,
        reduction_words());
}
template <class Visit>
void fields(Visit& visit, FocalCrossEntropyOptions& o) {
  visit({"gamma", "how strongly examples that are already correct count less", kNotNegative},
        o.gamma);
}
template <class Visit>
void fields(Visit& visit, MultiClassHingeOptions& o) {
  visit({"margin", "distance of the scores that is enough"}, o.margin);
  visit({"squared", "squares the losses"}, o.squared);
}
template <class Visit>
void fields(Visit& visit, FocalOptions& o) {
  visit({"gamma", "how strongly examples that are already correct count less", kNotNegative},
        o.gamma);
  visit({"alpha", "weight of targets 1; targets 0 have weight 1 - alpha", {0, 1}}, o.alpha);
}
template <class Visit>
void fields(Visit& visit, DiceOptions& o) {
  visit({"smooth", "added to both sides of the quotient", kNotNegative}, o.smooth);
}
template <class Visit>
void fields(Visit& visit, HingeOptions& o) {
  visit({"margin", "distance of the score from 0 that is enough"}, o.margin);
}
template <class Visit>
void fields(Visit& visit, HuberOptions& o) {
  visit({"delta", "error where the loss becomes linear", kPositive}, o.delta);
}
template <class Visit>
void fields(Visit& visit, SmoothL1Options& o) {
  visit({"beta", "error where the loss becomes linear", kPositive}, o.beta);
}

// A conditional random field needs the names of labels, therefore session/job applies it.
struct CrfLossOptions {
  bool constrained = true;
};
template <class Visit>
void fields(Visit& visit, CrfLossOptions& o) {
  visit({"constrained", "an `I-` label only after its own `B-` or `I-`"}, o.constrained);
}

// Calls visit(LossEntry, options, apply) for every loss.
template <class Visit>
void for_each_loss(Visit&& visit) {
  visit({"cross_entropy", "probabilities of classes", Task::classes, Output::softmax},
        CrossEntropyOptions{.reduction = Reduction::mean},
        [](const Value& x, const Value& t, const CrossEntropyOptions& o) {
          return cross_entropy(x, t, o);
        });
  visit({"focal_cross_entropy", "probabilities of classes", Task::classes, Output::softmax},
        FocalCrossEntropyOptions{},
        [](const Value& x, const Value& t, const FocalCrossEntropyOptions& o) {
          return focal_cross_entropy(x, t, o);
        });
  visit({"nll", "probabilities of classes; the network ends in their logarithms", Task::classes,
         Output::exponential},
        NllOptions{.reduction = Reduction::mean},
        [](const Value& x, const Value& t, const NllOptions& o) { return nll(x, t, o); });
  visit({"multi_class_hinge", "softmax of the scores", Task::classes, Output::softmax},
        MultiClassHingeOptions{},
        [](const Value& x, const Value& t, const MultiClassHingeOptions& o) {
          return multi_class_hinge(x, t, o);
        });
  visit({"crf", "labels of the most likely path", Task::labels, Output::labels}, CrfLossOptions{},
        [](const Value&, const Value&, const CrfLossOptions&) { return Value(); });
  visit({"binary_cross_entropy", "probability of 1", Task::binary, Output::sigmoid},
        BinaryCrossEntropyOptions{.reduction = Reduction::mean},
        [](const Value& x, const Value& t, const BinaryCrossEntropyOptions& o) {
          return binary_cross_entropy_with_logits(x, t, o);
        });
  visit({"focal", "probability of 1", Task::binary, Output::sigmoid}, FocalOptions{},
        [](const Value& x, const Value& t, const FocalOptions& o) { return focal(x, t, o); });
  visit({"multi_label_margin", "score of each label", Task::binary, Output::itself},
        MultiLabelMarginOptions{},
        [](const Value& x, const Value& t, const MultiLabelMarginOptions& o) {
          return multi_label_margin(x, t, o);
        });
  visit({"multi_label_soft_margin", "probability of each label", Task::binary, Output::sigmoid},
        MultiLabelSoftMarginOptions{},
        [](const Value& x, const Value& t, const MultiLabelSoftMarginOptions& o) {
          return multi_label_soft_margin(x, t, o);
        });
  visit({"dice", "probability of 1", Task::binary, Output::sigmoid}, DiceOptions{},
        [](const Value& x, const Value& t, const DiceOptions& o) {
          return dice(trireme::sigmoid(x), t, o);
        });
  visit({"hinge", "score, above 0 for 1", Task::binary, Output::itself}, HingeOptions{},
        [](const Value& x, const Value& t, const HingeOptions& o) { return hinge(x, t, o); });
  visit(
      {"squared_hinge", "score, above 0 for 1", Task::binary, Output::itself}, HingeOptions{},
      [](const Value& x, const Value& t, const HingeOptions& o) { return squared_hinge(x, t, o); });
  visit({"mse", "number", Task::numbers, Output::itself}, NoOptions{},
        [](const Value& x, const Value& t, NoOptions) { return mse(x, t); });
  visit({"l1", "number", Task::numbers, Output::itself}, NoOptions{},
        [](const Value& x, const Value& t, NoOptions) { return l1(x, t); });
  visit({"huber", "number", Task::numbers, Output::itself}, HuberOptions{},
        [](const Value& x, const Value& t, const HuberOptions& o) { return huber(x, t, o); });
  visit(
      {"smooth_l1", "number", Task::numbers, Output::itself}, SmoothL1Options{},
      [](const Value& x, const Value& t, const SmoothL1Options& o) { return smooth_l1(x, t, o); });
  visit({"poisson_nll", "expected count; the network ends in its logarithm", Task::numbers,
         Output::exponential},
        NoOptions{}, [](const Value& x, const Value& t, NoOptions) { return poisson_nll(x, t); });
  visit({"kl_divergence", "shares of classes", Task::numbers, Output::softmax}, NoOptions{},
        [](const Value& x, const Value& t, NoOptions) {
          return sum(kl_divergence(log_softmax(x), t), {.axes = {-1}});
        });
}

}  // namespace trireme::nn
