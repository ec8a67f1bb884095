// Metrics of numbers, of yes-or-no answers that are means, and of rankings.

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "nn/layer.h"
#include "session/metrics/checks.h"
#include "trireme/functions.h"
#include "trireme/loss.h"
#include "trireme/metrics.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void check_numbers(std::string_view metric, Value predicted, Value target) {
  if (predicted.shape() == target.shape() && is_arithmetic_float(predicted.dtype()) &&
      is_arithmetic_float(target.dtype())) {
    return;
  }
  fail_usage(
      fmt::format("{}: predicted and target must be floats of one shape\n"
                  "  predicted  {}\n  target     {}\n  hint       reshape one of them",
                  metric, predicted.str(), target.str()));
}

namespace {

Value difference(Value predicted, Value target) {
  return sub(predicted, cast(target, {.dtype = predicted.dtype()}));
}

// f64[1, 4]: the number of targets, their mean, the sum of squared distances from it, and the sum
// of squared errors. The rounding error of the mean is corrected by the mean distance.
Value r2_sums(Value predicted, Value target) {
  const Value p = cast(predicted, {.dtype = f64}), t = cast(target, {.dtype = f64});
  const Value n = dim_size(t, {.dtype = f64}), rough = mean(t), d = t - rough;
  const Value rest = mean(d), error = p - t;
  const Value spread = sum(d * d) - n * rest * rest;
  return reshape(stack({n, rough + rest, spread, sum(error * error)}, 0), {.shape = {1, 4}});
}

// Merges the rows of r2_sums(): Chan, Golub and LeVeque, "Algorithms for computing the sample
// variance", 1983. Targets that differ by rounding errors only have no spread.
double r2_of(const Tensor& all) {
  double n = 0, mean = 0, spread = 0, errors = 0;
  for (std::int64_t i = 0; i < all.dim(0); ++i) {
    const double* batch = all.data<double>() + 4 * i;
    if (batch[0] == 0) continue;
    const double delta = batch[1] - mean, sum = n + batch[0];
    spread += batch[2] + delta * delta * n * (batch[0] / sum);
    mean += delta * (batch[0] / sum);
    errors += batch[3];
    n = sum;
  }
  if (n < 2) return kNaN;
  const double rounding = n * (1e-13 * mean) * (1e-13 * mean);
  const bool is_constant = spread <= rounding && std::isfinite(rounding) && !std::isnan(errors);
  if (is_constant) return errors <= rounding ? 1 : 0;
  return 1 - errors / spread;
}

Value count_true(Value condition) { return sum(cast(condition, {.dtype = f32})); }

// f32[4]: the sum of the average precisions of the rows with a relevant item, the number of these
// rows, and the numbers of wrong relevances and of scores that are NaN. The comparison of all pairs
// is fused into the sums.
Value ranking_sums(Value scores, Value relevant) {
  const Value mine = unsqueeze(scores, 2), other = unsqueeze(scores, 1);
  const Value no_lower = cast(less_equal(mine, other), {.dtype = f32});
  const Value rank = sum(no_lower, {.axes = {2}});
  const Value hits = sum(no_lower * unsqueeze(relevant, 1), {.axes = {2}});
  const Value items = sum(relevant, {.axes = {1}});
  const Value precisions = sum(relevant * hits / maximum(rank, 1.0), {.axes = {1}});
  const Value has_any = less(0.0, items);
  const Value wrong =
      logical_not(logical_or(trireme::equal(relevant, 0.0), trireme::equal(relevant, 1.0)));
  return stack({sum(precisions / maximum(items, 1.0)), count_true(has_any), count_true(wrong),
                count_true(is_nan(scores))},
               0);
}

double mean_of_rankings(const Tensor& all) {
  const double* n = all.data<double>();
  if (n[2] > 0) {
    fail_data(fmt::format("mean_average_precision: {} labels are neither 0 nor 1", n[2]));
  }
  if (n[3] > 0) fail_data(fmt::format("mean_average_precision: {} scores are NaN", n[3]));
  return n[1] == 0 ? kNaN : n[0] / n[1];
}

}  // namespace

void check_pairs(std::string_view metric, Value score, Value label) {
  if (score.shape() == label.shape() && is_arithmetic_float(score.dtype())) return;
  fail_usage(
      fmt::format("{}: score must be floats and label of the same shape\n"
                  "  score  {}\n  label  {}\n  hint   reshape one of them",
                  metric, score.str(), label.str()));
}

Metric binary_accuracy(Value score, Value label, BinaryOptions options, SourceLocation where) {
  const nn::LocationScope at(score, "binary_accuracy", where);
  check_pairs("binary_accuracy", score, label);
  const Value predicted = less(options.threshold, score);
  const Value positive = trireme::equal(cast(label, {.dtype = f32}), 1.0);
  const Value right =
      trireme::equal(cast(predicted, {.dtype = f32}), cast(positive, {.dtype = f32}));
  return {.name = "accuracy", .value = mean(cast(right, {.dtype = f32})), .larger_better = true};
}

Metric binary_log_loss(Value score, Value label, SourceLocation where) {
  const nn::LocationScope at(score, "binary_log_loss", where);
  check_pairs("binary_log_loss", score, label);
  const Value target = cast(label, {.dtype = score.dtype()});
  return {.name = "log_loss",
          .value = mean(nn::binary_cross_entropy_with_logits(score, target)),
          .larger_better = false};
}

Metric mean_average_precision(Value scores, Value relevant, SourceLocation where) {
  const nn::LocationScope at(scores, "mean_average_precision", where);
  check_pairs("mean_average_precision", scores, relevant);
  if (scores.rank() != 2) {
    fail_usage("mean_average_precision: scores must be [batch, items], but are " + scores.str());
  }
  return {.name = "mean_average_precision",
          .value = ranking_sums(scores, cast(relevant, {.dtype = f32})),
          .combine = Metric::Combine::sum,
          .finish = mean_of_rankings,
          .larger_better = true};
}

Metric rmse(Value predicted, Value target, SourceLocation where) {
  const nn::LocationScope at(predicted, "rmse", where);
  check_numbers("rmse", predicted, target);
  const Value d = difference(predicted, target);
  return {.name = "rmse",
          .value = mean(mul(d, d)),
          .finish = [](const Tensor& all) { return std::sqrt(all.item<double>()); },
          .larger_better = false};
}

Metric mae(Value predicted, Value target, SourceLocation where) {
  const nn::LocationScope at(predicted, "mae", where);
  check_numbers("mae", predicted, target);
  return {.name = "mae", .value = mean(abs(difference(predicted, target))), .larger_better = false};
}

Metric r2(Value predicted, Value target, SourceLocation where) {
  const nn::LocationScope at(predicted, "r2", where);
  check_numbers("r2", predicted, target);
  return {.name = "r2",
          .value = r2_sums(predicted, target),
          .combine = Metric::Combine::join,
          .finish = r2_of,
          .larger_better = true};
}

}  // namespace trireme
