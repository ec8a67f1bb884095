// Similarity of images: PSNR and SSIM.

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"
#include "ir/builder.h"
#include "nn/layer.h"
#include "session/metrics/checks.h"
#include "trireme/functions.h"
#include "trireme/metrics.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

void check_images(const char* metric, const Value& predicted, const Value& target, double range) {
  check_numbers(metric, predicted, target);
  if (predicted.rank() != 4) {
    fail_usage(fmt::format("{}: images must be [batch, channels, height, width], but are {}",
                           metric, predicted.str()));
  }
  if (!(range > 0) || std::isinf(range)) {
    fail_usage(fmt::format("{}: range is {}, but must be a number above 0", metric, range));
  }
}

void check_ssim(const Value& predicted, const SsimOptions& options) {
  if (options.window < 1 || options.window % 2 == 0) {
    fail_usage(
        fmt::format("ssim: window is {}, but must be an odd number above 0", options.window));
  }
  if (!(options.sigma > 0) || !(options.k1 >= 0) || !(options.k2 >= 0)) {
    fail_usage(
        fmt::format("ssim: sigma must be above 0, k1 and k2 at least 0, but they are {}, {} "
                    "and {}",
                    options.sigma, options.k1, options.k2));
  }
  for (const int axis : {2, 3}) {
    const Dim size = predicted.dim(axis);
    if (size.is_constant() && size.constant() >= options.window) continue;
    fail_usage(
        fmt::format("ssim: height and width must be known and at least the window, {}\n"
                    "  images  {}",
                    options.window, predicted.str()));
  }
}

// f64[window]: a Gaussian whose sum is 1.
Value gaussian_window(const Value& like, const SsimOptions& options) {
  ir::Builder& builder = like.get()->program->builder();
  const Value numbers(
      builder.make("iota", {}, {{"axis", std::int64_t{0}}, {"shape", Shape{Dim(options.window)}}}));
  const Value distance = cast(numbers, {.dtype = f64}) - static_cast<double>(options.window / 2);
  const Value weights = exp(distance * distance * (-0.5 / (options.sigma * options.sigma)));
  return weights / sum(weights);
}

// The weighted means of all windows within x: [n, 1, height, width].
Value window_means(const Value& x, const Value& weights, std::int64_t window) {
  const Value rows = conv2d(x, reshape(weights, {.shape = {1, 1, window, 1}}));
  return conv2d(rows, reshape(weights, {.shape = {1, 1, 1, window}}));
}

// Of images x and y f64[n, 1, height, width]. Variances do not depend on the mean of an image, and
// lose fewer digits without it.
Value similarity(const Value& x, const Value& y, const SsimOptions& options) {
  const Value weights = gaussian_window(x, options);
  const auto means = [&](const Value& v) { return window_means(v, weights, options.window); };
  const Value center = mean(y, {.axes = {1, 2, 3}, .keep = true});
  const Value a = x - center, b = y - center;
  const Value mean_a = means(a), mean_b = means(b);
  const Value variances = means(a * a) - mean_a * mean_a + (means(b * b) - mean_b * mean_b);
  const Value covariance = means(a * b) - mean_a * mean_b;
  const double c1 = std::pow(options.k1 * options.range, 2);
  const double c2 = std::pow(options.k2 * options.range, 2);
  const Value mean_x = mean_a + center, mean_y = mean_b + center;
  return (mean_x * mean_y * 2.0 + c1) * (covariance * 2.0 + c2) /
         ((mean_x * mean_x + mean_y * mean_y + c1) * (variances + c2));
}

// Each channel as an image of its own: [batch * channels, 1, height, width].
Value as_planes(const Value& x) {
  return cast(reshape(x, {.shape = {x.dim(0) * x.dim(1), 1, x.dim(2), x.dim(3)}}), {.dtype = f64});
}

}  // namespace

Metric psnr(Value predicted, Value target, PsnrOptions options, SourceLocation where) {
  const nn::LocationScope at(predicted, "psnr", where);
  check_images("psnr", predicted, target, options.range);
  const Value error = cast(predicted, {.dtype = f64}) - cast(target, {.dtype = f64});
  const Value squares = mean(error * error, {.axes = {1, 2, 3}});
  const double range = 20 * std::log10(options.range);
  return {.name = "psnr",
          .value = mean(log(squares) * (-10 / std::log(10.0)) + range),
          .larger_better = true};
}

Metric ssim(Value predicted, Value target, SsimOptions options, SourceLocation where) {
  const nn::LocationScope at(predicted, "ssim", where);
  check_images("ssim", predicted, target, options.range);
  check_ssim(predicted, options);
  return {.name = "ssim",
          .value = mean(similarity(as_planes(predicted), as_planes(target), options)),
          .larger_better = true};
}

}  // namespace trireme
