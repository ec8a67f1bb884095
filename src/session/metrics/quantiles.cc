// Quantiles of errors, and the loss of a predicted quantile.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "nn/layer.h"
#include "session/metrics/checks.h"
#include "trireme/functions.h"
#include "trireme/metrics.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

void check_quantile(std::string_view metric, double quantile) {
  if (quantile >= 0 && quantile <= 1) return;
  fail_usage(fmt::format("{}: quantile is {}, but must be in [0, 1]", metric, quantile));
}

// predicted - target.
Value error_of_targets(const Value& predicted, const Value& target) {
  return sub(predicted, cast(target, {.dtype = predicted.dtype()}));
}

// Type 7 of Hyndman and Fan, "Sample quantiles in statistical packages", 1996.
double quantile_of(const Tensor& all, double quantile) {
  std::vector<double> errors = all.cast(f64).to_vector<double>();
  if (std::any_of(errors.begin(), errors.end(), [](double e) { return std::isnan(e); })) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double place = quantile * static_cast<double>(errors.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(place);
  std::nth_element(errors.begin(), errors.begin() + below, errors.end());
  const double low = errors[static_cast<std::size_t>(below)];
  const double share = place - static_cast<double>(below);
  if (share == 0) return low;
  const double high = *std::min_element(errors.begin() + below + 1, errors.end());
  return low == high ? low : low + share * (high - low);
}

Metric quantile_metric(const char* function, std::string name, const Value& predicted,
                       const Value& target, double quantile, const SourceLocation& where) {
  const nn::LocationScope at(predicted, function, where);
  check_numbers(function, predicted, target);
  check_quantile(function, quantile);
  const Value errors = abs(error_of_targets(predicted, target));
  return {.name = std::move(name),
          .value = reshape(errors, {.shape = {product(errors.shape())}}),
          .combine = Metric::Combine::join,
          .finish = [quantile](const Tensor& all) { return quantile_of(all, quantile); },
          .larger_better = false};
}

}  // namespace

Metric absolute_error_quantile(Value predicted, Value target, double quantile,
                               SourceLocation where) {
  return quantile_metric("absolute_error_quantile",
                         quantile == 0.5 ? "median_absolute_error"
                                         : fmt::format("absolute_error_quantile_{}", quantile),
                         predicted, target, quantile, where);
}

Metric median_absolute_error(Value predicted, Value target, SourceLocation where) {
  return quantile_metric("median_absolute_error", "median_absolute_error", predicted, target, 0.5,
                         where);
}

Metric pinball_loss(Value predicted, Value target, double quantile, SourceLocation where) {
  const nn::LocationScope at(predicted, "pinball_loss", where);
  check_numbers("pinball_loss", predicted, target);
  check_quantile("pinball_loss", quantile);
  const Value error = cast(predicted, {.dtype = f64}) - cast(target, {.dtype = f64});
  // A product of 0 and an infinite error would be NaN.
  const Value above = maximum(error, 0.0), below = maximum(-error, 0.0);
  Value loss = quantile == 0   ? above
               : quantile == 1 ? below
                               : below * quantile + above * (1 - quantile);
  return {.name = fmt::format("pinball_loss_{}", quantile),
          .value = mean(loss),
          .larger_better = false};
}

}  // namespace trireme
