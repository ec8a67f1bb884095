#pragma once

// The metrics that a job file may name, and their options as fields (nn/catalog/field.h).

#include <optional>
#include <string>

#include "nn/catalog/field.h"
#include "trireme/metrics.h"

namespace trireme::job {

// An entry of the catalog.
struct MetricEntry : nn::Entry {
  bool larger_better = true;
};

struct ThresholdOptions {
  double threshold = 0;
};
template <class Visit>
void fields(Visit& visit, ThresholdOptions& o) {
  visit(nn::Field{"threshold", "for a loss of zeros and ones: scores above it count as 1"},
        o.threshold);
}

// Of precision, recall and f1: of classes, or for a loss of zeros and ones.
struct ClassCountOptions {
  ClassOptions::Average average = ClassOptions::Average::macro;
  std::optional<std::int64_t> of_class = {};
};
template <class Visit>
void fields(Visit& visit, ClassCountOptions& o) {
  using Average = ClassOptions::Average;
  visit(nn::Field{"average", "of the classes"}, o.average,
        nn::Words<Average>{
            {"macro", Average::macro}, {"micro", Average::micro}, {"weighted", Average::weighted}});
  visit(nn::Field{"class", "only this class, instead of an average", {.min = 0}}, o.of_class);
}
struct CountOptions {
  ClassCountOptions classes = {};
  ThresholdOptions binary = {};
};
template <class Visit>
void fields(Visit& visit, CountOptions& o) {
  fields(visit, o.classes);
  fields(visit, o.binary);
}

struct TopOptions {
  std::int64_t k = 5;
};
template <class Visit>
void fields(Visit& visit, TopOptions& o) {
  visit(nn::Field{"k", "labels among this number of largest scores count", nn::kSize}, o.k);
}

// Of metrics of ranking groups.
struct GroupOptions {
  std::string group = "qid";
};
template <class Visit>
void fields(Visit& visit, GroupOptions& o) {
  visit(nn::Field{"group", "column of whole numbers: examples with one number are compared"},
        o.group);
}
struct PlacesOptions : GroupOptions {
  std::int64_t k = 0;
};
template <class Visit>
void fields(Visit& visit, PlacesOptions& o) {
  fields(visit, static_cast<GroupOptions&>(o));
  visit(nn::Field{"k", "places of a group that count; 0: all", nn::kExtent}, o.k);
}

// Calls visit(MetricEntry, options) for every metric.
template <class Visit>
void for_each_metric(Visit&& visit) {
  using nn::NoOptions;
  visit(MetricEntry{{"accuracy", "Share of right predictions"}}, ThresholdOptions{});
  visit(MetricEntry{{"auc", "Area under the ROC curve"}}, NoOptions{});
  visit(MetricEntry{{"chunk_f1", "F1 of spans of labels such as B-ARG0"}}, NoOptions{});
  visit(MetricEntry{{"chunk_precision", "Precision of spans of labels"}}, NoOptions{});
  visit(MetricEntry{{"chunk_recall", "Recall of spans of labels"}}, NoOptions{});
  visit(MetricEntry{{"f1", "Harmonic mean of precision and recall"}}, CountOptions{});
  visit(MetricEntry{{"log_loss", "Cross entropy"}, false}, NoOptions{});
  visit(MetricEntry{{"mae", "Mean absolute error"}, false}, NoOptions{});
  visit(MetricEntry{{"map", "Mean average precision of ranking groups"}}, GroupOptions{});
  visit(MetricEntry{{"mean_average_precision", "Of rankings [batch, items]"}}, NoOptions{});
  visit(MetricEntry{{"mrr", "Mean reciprocal rank of ranking groups"}}, PlacesOptions{});
  visit(MetricEntry{{"mse", "Mean squared error"}, false}, NoOptions{});
  visit(MetricEntry{{"ndcg", "Discounted gain of ranking groups"}}, PlacesOptions{});
  visit(MetricEntry{{"perplexity", "Exponential of the cross entropy"}, false}, NoOptions{});
  visit(MetricEntry{{"precision", "Share of right ones among the predictions"}}, CountOptions{});
  visit(MetricEntry{{"r2", "Share of the variance that is predicted"}}, NoOptions{});
  visit(MetricEntry{{"recall", "Share of the examples that are found"}}, CountOptions{});
  visit(MetricEntry{{"rmse", "Root of the mean squared error"}, false}, NoOptions{});
  visit(MetricEntry{{"streaming_auc", "Area under the ROC curve, in bins"}}, StreamingAucOptions{});
  visit(MetricEntry{{"streaming_auc_error", "Largest error of `streaming_auc`"}, false},
        StreamingAucOptions{});
  visit(MetricEntry{{"top_k_accuracy", "Share of labels among the largest scores"}}, TopOptions{});
}

}  // namespace trireme::job

namespace trireme {

template <class Visit>
void fields(Visit& visit, StreamingAucOptions& o) {
  visit(nn::Field{"bins", "of equal width", nn::kSize}, o.bins);
  visit(nn::Field{"low", "scores below count as this"}, o.low);
  visit(nn::Field{"high", "scores above count as this"}, o.high);
}

}  // namespace trireme
