// Cohen's kappa, from a confusion matrix.

#include <cmath>
#include <cstdlib>
#include <limits>

#include "nn/layer.h"
#include "session/metrics/checks.h"
#include "trireme/metrics.h"

namespace trireme {
namespace {

using Weights = KappaOptions::Weights;

// How much it counts to take one class for another.
double error_weight(Weights weights, std::int64_t truth, std::int64_t predicted) {
  const auto distance = static_cast<double>(std::abs(truth - predicted));
  if (weights == Weights::none) return distance > 0 ? 1 : 0;
  return weights == Weights::linear ? distance : distance * distance;
}

double kappa_of(const Tensor& confusion, Weights weights) {
  const std::int64_t classes = confusion.dim(0);
  const double* n = confusion.data<double>();
  std::vector<double> truths(static_cast<std::size_t>(classes)), predictions = truths;
  double examples = 0;
  for (std::int64_t i = 0; i < classes; ++i) {
    for (std::int64_t j = 0; j < classes; ++j) {
      truths[static_cast<std::size_t>(i)] += n[i * classes + j];
      predictions[static_cast<std::size_t>(j)] += n[i * classes + j];
      examples += n[i * classes + j];
    }
  }
  double errors = 0, by_chance = 0;  // the latter times the examples, so that it is exact
  for (std::int64_t i = 0; i < classes; ++i) {
    for (std::int64_t j = 0; j < classes; ++j) {
      const double weight = error_weight(weights, i, j);
      errors += weight * n[i * classes + j];
      by_chance +=
          weight * truths[static_cast<std::size_t>(i)] * predictions[static_cast<std::size_t>(j)];
    }
  }
  if (by_chance == 0) return std::numeric_limits<double>::quiet_NaN();
  return 1 - errors * examples / by_chance;
}

}  // namespace

Metric cohen_kappa(Value logits, Value label, KappaOptions options, SourceLocation where) {
  const nn::LocationScope at(logits, "cohen_kappa", where);
  check_classes("cohen_kappa", logits, label);
  const char* name = options.weights == Weights::none     ? "cohen_kappa"
                     : options.weights == Weights::linear ? "cohen_kappa_linear"
                                                          : "cohen_kappa_quadratic";
  return {
      .name = name,
      .value = confusion_counts(logits, label, {.ignore_index = options.ignore_index}, where),
      .combine = Metric::Combine::sum,
      .finish = [weights = options.weights](const Tensor& all) { return kappa_of(all, weights); },
      .larger_better = true};
}

}  // namespace trireme
