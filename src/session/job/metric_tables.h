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

struct KappaChoice {
  KappaOptions::Weights weights = KappaOptions::Weights::none;
};
template <class Visit>
void fields(Visit& visit, KappaChoice& o) {
  using Weights = KappaOptions::Weights;
  visit(
      nn::Field{"weights", "of errors between ordered classes, by their distance"}, o.weights,
      nn::Words<Weights>{
          {"none", Weights::none}, {"linear", Weights::linear}, {"quadratic", Weights::quadratic}});
}
struct AgreementOptions {
  KappaChoice classes = {};
  ThresholdOptions binary = {};
};
template <class Visit>
void fields(Visit& visit, AgreementOptions& o) {
  fields(visit, o.classes);
  fields(visit, o.binary);
}

struct BinOptions {
  std::int64_t bins = 15;
  CalibrationOptions::Norm norm = CalibrationOptions::Norm::mean;
};
template <class Visit>
void fields(Visit& visit, BinOptions& o) {
  using Norm = CalibrationOptions::Norm;
  visit(nn::Field{"bins", "of equal width in (0, 1]", nn::kSize}, o.bins);
  visit(nn::Field{"norm", "how the bins are combined"}, o.norm,
        nn::Words<Norm>{{"mean", Norm::mean}, {"max", Norm::max}, {"squared", Norm::squared}});
}

struct QuantileOptions {
  double quantile = 0.5;
};
template <class Visit>
void fields(Visit& visit, QuantileOptions& o) {
  visit(nn::Field{"quantile", "0.5 is the median", {.min = 0, .max = 1}}, o.quantile);
}

struct RangeOptions {
  double range = 1;
};
template <class Visit>
void fields(Visit& visit, RangeOptions& o) {
  visit(nn::Field{"range", "largest possible difference of two pixels", nn::kPositive}, o.range);
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
  visit(MetricEntry{{"absolute_error_quantile", "Quantile of the absolute errors"}, false},
        QuantileOptions{});
  visit(MetricEntry{{"accuracy", "Share of right predictions"}}, ThresholdOptions{});
  visit(MetricEntry{{"auc", "Area under the ROC curve"}}, NoOptions{});
  visit(MetricEntry{{"average_precision", "Area under the precision-recall curve"}}, NoOptions{});
  visit(MetricEntry{{"calibration_error", "Difference of confidence and accuracy"}, false},
        BinOptions{});
  visit(MetricEntry{{"chunk_f1", "F1 of spans of labels such as B-ARG0"}}, NoOptions{});
  visit(MetricEntry{{"chunk_precision", "Precision of spans of labels"}}, NoOptions{});
  visit(MetricEntry{{"chunk_recall", "Recall of spans of labels"}}, NoOptions{});
  visit(MetricEntry{{"cohen_kappa", "Agreement beyond chance"}}, AgreementOptions{});
  visit(MetricEntry{{"f1", "Harmonic mean of precision and recall"}}, CountOptions{});
  visit(MetricEntry{{"hit_rate", "Share of ranking groups with a hit"}}, PlacesOptions{});
  visit(MetricEntry{{"iou", "Intersection over union"}}, CountOptions{});
  visit(MetricEntry{{"log_loss", "Cross entropy"}, false}, NoOptions{});
  visit(MetricEntry{{"mae", "Mean absolute error"}, false}, NoOptions{});
  visit(MetricEntry{{"map", "Mean average precision of ranking groups"}}, GroupOptions{});
  visit(MetricEntry{{"matthews_correlation", "Correlation of predictions and labels"}},
        ThresholdOptions{});
  visit(MetricEntry{{"mean_average_precision", "Of rankings [batch, items]"}}, NoOptions{});
  visit(MetricEntry{{"median_absolute_error", "Median of the absolute errors"}, false},
        NoOptions{});
  visit(MetricEntry{{"mrr", "Mean reciprocal rank of ranking groups"}}, PlacesOptions{});
  visit(MetricEntry{{"mse", "Mean squared error"}, false}, NoOptions{});
  visit(MetricEntry{{"ndcg", "Discounted gain of ranking groups"}}, PlacesOptions{});
  visit(MetricEntry{{"perplexity", "Exponential of the cross entropy"}, false}, NoOptions{});
  visit(MetricEntry{{"pinball_loss", "Loss of a predicted quantile"}, false}, QuantileOptions{});
  visit(MetricEntry{{"precision", "Share of right ones among the predictions"}}, CountOptions{});
  visit(MetricEntry{{"psnr", "Peak signal-to-noise ratio of images, in decibels"}}, RangeOptions{});
  visit(MetricEntry{{"r2", "Share of the variance that is predicted"}}, NoOptions{});
  visit(MetricEntry{{"recall", "Share of the examples that are found"}}, CountOptions{});
  visit(MetricEntry{{"rmse", "Root of the mean squared error"}, false}, NoOptions{});
  visit(MetricEntry{{"ssim", "Structural similarity of images"}}, RangeOptions{});
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
