// Calibration errors: Naeini, Cooper and Hauskrecht, "Obtaining well calibrated probabilities using
// Bayesian binning", 2015; Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural
// networks", 2017.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "nn/layer.h"
#include "session/metrics/checks.h"
#include "trireme/functions.h"
#include "trireme/metrics.h"
#include "trireme/nn.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

using Norm = CalibrationOptions::Norm;

// f64[bins + 1, 3]: the number of examples of each bin, of those that came true, and the sum of
// their probabilities. The last row counts probabilities that are NaN, and other examples with a
// wrong label. All of shape [n], probability in f64; `wrong` and `kept` may be empty.
Value bin_sums(const Value& probability, const Value& came_true, const Value& wrong,
               const Value& kept, std::int64_t bins) {
  const auto count = static_cast<double>(bins);
  const Value nan = is_nan(probability);
  const Value invalid = wrong ? logical_or(nan, wrong) : nan;
  const Value place = clamp(ceil(probability * count) - 1.0, 0, count - 1);
  Value bin = cast(trireme::where(invalid, count, place), {.dtype = i64});
  if (kept) bin = trireme::where(kept, bin, -1.0);  // skipped
  const Value second = trireme::where(invalid, logical_not(nan), came_true);
  const Value first = logical_or(logical_not(invalid), nan);
  const Value third = trireme::where(invalid, 0.0, probability);
  return scatter_add(bin,
                     stack({cast(first, {.dtype = f64}), cast(second, {.dtype = f64}), third}, 1),
                     {.rows = {bins + 1}});
}

double error_of_bins(const std::string& metric, const Tensor& all, Norm norm) {
  const std::int64_t bins = all.dim(0) - 1;
  const double* n = all.data<double>();
  if (n[3 * bins] > 0) fail_data(fmt::format("{}: {} scores are NaN", metric, n[3 * bins]));
  if (n[3 * bins + 1] > 0) {
    fail_data(fmt::format("{}: {} labels are neither 0 nor 1", metric, n[3 * bins + 1]));
  }
  double examples = 0, sum = 0, squares = 0, largest = 0;
  for (const double* bin = n; bin != n + 3 * bins; bin += 3) {
    if (bin[0] == 0) continue;
    const double difference = std::abs(bin[1] - bin[2]);
    examples += bin[0];
    sum += difference;
    squares += difference * difference / bin[0];
    largest = std::max(largest, difference / bin[0]);
  }
  if (examples == 0) return std::numeric_limits<double>::quiet_NaN();
  if (norm == Norm::max) return largest;
  return norm == Norm::mean ? sum / examples : std::sqrt(squares / examples);
}

Metric calibration_metric(Value sums, const CalibrationOptions& options) {
  const std::string name = options.norm == Norm::mean  ? "calibration_error"
                           : options.norm == Norm::max ? "calibration_error_max"
                                                       : "calibration_error_squared";
  return {.name = name,
          .value = std::move(sums),
          .combine = Metric::Combine::sum,
          .finish = [name, norm = options.norm](
                        const Tensor& all) { return error_of_bins(name, all, norm); },
          .larger_better = false};
}

void check_bins(const CalibrationOptions& options) {
  constexpr std::int64_t kMaxBins = 1 << 20;
  if (options.bins < 1 || options.bins > kMaxBins) {
    fail_usage(
        fmt::format("calibration_error: bins must be in [1, {}], not {}", kMaxBins, options.bins));
  }
}

Value flattened(const Value& x) { return reshape(x, {.shape = {product(x.shape())}}); }

Value ignored_labels(const Value& label, const CalibrationOptions& options) {
  if (!options.ignore_index) return {};
  return not_equal(label, static_cast<double>(*options.ignore_index));
}

}  // namespace

Metric calibration_error(Value logits, Value label, CalibrationOptions options,
                         SourceLocation where) {
  const nn::LocationScope at(logits, "calibration_error", where);
  check_classes("calibration_error", logits, label);
  check_bins(options);
  const Value confidence = reduce_max(nn::softmax(cast(logits, {.dtype = f64})), {.axes = {-1}});
  const Value right = flattened(trireme::equal(argmax(logits, {.axes = {-1}}), label));
  const Value labels = flattened(label);
  return calibration_metric(
      bin_sums(flattened(confidence), right, {}, ignored_labels(labels, options), options.bins),
      options);
}

Metric binary_calibration_error(Value score, Value label, CalibrationOptions options,
                                SourceLocation where) {
  const nn::LocationScope at(score, "binary_calibration_error", where);
  check_pairs("binary_calibration_error", score, label);
  check_bins(options);
  const Value labels = flattened(cast(label, {.dtype = f32}));
  const Value positive = trireme::equal(labels, 1.0);
  const Value wrong = logical_not(logical_or(positive, trireme::equal(labels, 0.0)));
  const Value kept = ignored_labels(labels, options);
  return calibration_metric(bin_sums(sigmoid(flattened(cast(score, {.dtype = f64}))), positive,
                                     wrong, kept, options.bins),
                            options);
}

}  // namespace trireme
