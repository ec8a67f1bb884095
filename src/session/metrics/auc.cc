// The area under the ROC curve, exact and by a histogram.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "nn/layer.h"
#include "session/metrics/checks.h"
#include "session/metrics/examples.h"
#include "trireme/functions.h"
#include "trireme/metrics.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Value flat(Value x) { return reshape(x, {.shape = {product(x.shape())}}); }

// Pairs of a positive and a negative with the larger score at the positive, ties as halves, among
// all pairs. For each group of equal scores: its positives beat all negatives before it.
double exact_auc(const Tensor& all) {
  const std::vector<std::pair<double, bool>> examples = sorted_examples("auc", all);
  double pairs = 0, positives = 0, negatives = 0;
  for (std::size_t i = 0; i < examples.size();) {
    double here[2] = {0, 0};
    const double score = examples[i].first;
    for (; i < examples.size() && examples[i].first == score; ++i) ++here[examples[i].second];
    pairs += here[1] * (negatives + here[0] / 2);
    negatives += here[0];
    positives += here[1];
  }
  return positives * negatives == 0 ? kNaN : pairs / (positives * negatives);
}

// f32[bins + 1, 2]: negatives and positives of each bin. The last row counts scores that are NaN,
// and other examples with an invalid label.
Value histogram(Value score, Value label, const StreamingAucOptions& options) {
  const auto bins = static_cast<double>(options.bins);
  const Value x = flat(score), y = flat(cast(label, {.dtype = f32}));
  const Value nan = is_nan(x);
  const Value positive = trireme::equal(y, 1.0);
  const Value fits = logical_or(positive, trireme::equal(y, 0.0));
  const Value good = logical_and(logical_not(nan), fits);
  const Value place = clamp((x - options.low) * (bins / (options.high - options.low)), 0, bins - 1);
  const Value bin = trireme::where(good, cast(place, {.dtype = i64}), bins);
  const Value second = trireme::where(good, positive, logical_not(nan));
  const Value columns =
      stack({cast(logical_not(second), {.dtype = f32}), cast(second, {.dtype = f32})}, 1);
  return scatter_add(bin, columns, {.rows = {options.bins + 1}});
}

struct Areas {
  double auc = kNaN, error = kNaN;
};

Areas areas_of(const Tensor& all) {
  const std::int64_t bins = all.dim(0) - 1;
  const double* n = all.data<double>();
  if (n[2 * bins] > 0) fail_data(fmt::format("streaming_auc: {} scores are NaN", n[2 * bins]));
  if (n[2 * bins + 1] > 0) {
    fail_data(fmt::format("streaming_auc: {} labels are neither 0 nor 1", n[2 * bins + 1]));
  }
  double pairs = 0, ties = 0, positives = 0, negatives = 0;
  for (std::int64_t i = 0; i < bins; ++i) {
    pairs += n[2 * i + 1] * (negatives + n[2 * i] / 2);
    ties += n[2 * i + 1] * n[2 * i];
    negatives += n[2 * i];
    positives += n[2 * i + 1];
  }
  const double total = positives * negatives;
  if (total == 0) return {};
  return {pairs / total, ties / total / 2};
}

Value checked_histogram(const char* metric, Value score, Value label,
                        const StreamingAucOptions& options, const SourceLocation& where) {
  const nn::LocationScope at(score, metric, where);
  check_pairs(metric, score, label);
  constexpr std::int64_t kMaxBins = 1 << 24;
  if (options.bins < 1 || options.bins > kMaxBins) {
    fail_usage(fmt::format("{}: bins must be in [1, {}], not {}", metric, kMaxBins, options.bins));
  }
  if (!(options.low < options.high) || !std::isfinite(options.high - options.low)) {
    fail_usage(fmt::format("{}: low must be below high, but they are {} and {}", metric,
                           options.low, options.high));
  }
  return histogram(score, label, options);
}

void check_example(std::string_view metric, double score, double label) {
  if (std::isnan(score)) fail_data(fmt::format("{}: a score is NaN", metric));
  if (label != 0 && label != 1) {
    fail_data(fmt::format("{}: label {} is neither 0 nor 1", metric, label));
  }
}

}  // namespace

Value score_label_pairs(std::string_view metric, const Value& score, const Value& label) {
  check_pairs(metric, score, label);
  return stack({flat(score), flat(cast(label, {.dtype = score.dtype()}))}, 1);
}

std::vector<std::pair<double, bool>> sorted_examples(std::string_view metric, const Tensor& all) {
  const Tensor wide = all.cast(f64);
  const double* n = wide.data<double>();
  std::vector<std::pair<double, bool>> examples;
  examples.reserve(static_cast<std::size_t>(wide.dim(0)));
  for (std::int64_t i = 0; i < wide.dim(0); ++i) {
    check_example(metric, n[2 * i], n[2 * i + 1]);
    examples.emplace_back(n[2 * i], n[2 * i + 1] == 1);
  }
  std::sort(examples.begin(), examples.end());
  return examples;
}

Metric auc(Value score, Value label, SourceLocation where) {
  const nn::LocationScope at(score, "auc", where);
  return {.name = "auc",
          .value = score_label_pairs("auc", score, label),
          .combine = Metric::Combine::join,
          .finish = exact_auc,
          .larger_better = true};
}

Metric streaming_auc(Value score, Value label, StreamingAucOptions options, SourceLocation where) {
  return {.name = "streaming_auc",
          .value = checked_histogram("streaming_auc", score, label, options, where),
          .combine = Metric::Combine::sum,
          .finish = [](const Tensor& all) { return areas_of(all).auc; },
          .larger_better = true};
}

Metric streaming_auc_error(Value score, Value label, StreamingAucOptions options,
                           SourceLocation where) {
  return {.name = "streaming_auc_error",
          .value = checked_histogram("streaming_auc_error", score, label, options, where),
          .combine = Metric::Combine::sum,
          .finish = [](const Tensor& all) { return areas_of(all).error; },
          .larger_better = false};
}

}  // namespace trireme
