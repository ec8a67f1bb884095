// Pooling of lines, [batch, channels, length], and norms of windows.

#include <cmath>
#include <string>

#include "nn/windows.h"
#include "trireme/convolution.h"

namespace trireme::nn {
namespace {

Value window_norms(const Value& x, const char* what, double power, const Pair& kernel,
                   const Pair& stride) {
  if (!is_arithmetic_float(x.dtype())) fail_layer(what, "the input must be f32 or f64", "", x);
  if (!(power >= 1 && std::isfinite(power))) {
    fail_layer(what, "the power must be a finite number, at least 1",
               "max_pool is the norm of an infinite power", x);
  }
  const Value powers = power == 1 ? abs(x) : power == 2 ? x * x : pow(abs(x), power);
  const Value means = trireme::avg_pool(powers, {.kernel = list(kernel), .stride = list(stride)});
  const Value total = means * static_cast<double>(kernel.height * kernel.width);
  if (power == 1) return total;
  // The root has no gradient at 0.
  const Value is_zero = equal(total, 0.0);
  const Value safe = trireme::where(is_zero, 1.0, total);
  return trireme::where(is_zero, 0.0, power == 2 ? sqrt(safe) : pow(safe, 1 / power));
}

}  // namespace

PoolOptions image_options(const Pool1dOptions& options) {
  PoolOptions image;
  image.kernel = Pair(1, options.kernel);
  image.stride = Pair(1, options.stride.value_or(options.kernel));
  image.padding = Padding(0, 0, options.padding.before, options.padding.after);
  image.padding.same = options.padding.same;
  image.ceil_mode = options.ceil_mode;
  image.count_include_pad = options.count_include_pad;
  return image;
}

Value max_pool1d(const Value& x, Pool1dOptions options, SourceLocation where) {
  const LocationScope at(x, "max_pool1d", where);
  require_line(x, "max_pool1d");
  return as_line(nn::max_pool(as_image(x), image_options(options), where));
}

Value avg_pool1d(const Value& x, Pool1dOptions options, SourceLocation where) {
  const LocationScope at(x, "avg_pool1d", where);
  require_line(x, "avg_pool1d");
  return as_line(nn::avg_pool(as_image(x), image_options(options), where));
}

Value global_avg_pool1d(const Value& x, SourceLocation where) {
  const LocationScope at(x, "global_avg_pool1d", where);
  require_line(x, "global_avg_pool1d");
  return mean(x, {.axes = {2}});
}

Value global_max_pool1d(const Value& x, SourceLocation where) {
  const LocationScope at(x, "global_max_pool1d", where);
  require_line(x, "global_max_pool1d");
  return reduce_max(x, {.axes = {2}});
}

Value adaptive_avg_pool1d(const Value& x, std::int64_t size, SourceLocation where) {
  const LocationScope at(x, "adaptive_avg_pool1d", where);
  require_line(x, "adaptive_avg_pool1d");
  check_bins(x, "adaptive_avg_pool1d", {x.dim(2).constant()}, {size});
  return as_line(adaptive_avg_pool(as_image(x), {1, size}, where));
}

Value adaptive_max_pool1d(const Value& x, std::int64_t size, SourceLocation where) {
  const LocationScope at(x, "adaptive_max_pool1d", where);
  require_line(x, "adaptive_max_pool1d");
  check_bins(x, "adaptive_max_pool1d", {x.dim(2).constant()}, {size});
  return as_line(adaptive_max_pool(as_image(x), {1, size}, where));
}

Value lp_pool(const Value& x, LpPoolOptions options, SourceLocation where) {
  const LocationScope at(x, "lp_pool", where);
  require_image(x, "lp_pool");
  return window_norms(x, "lp_pool", options.power, options.kernel,
                      options.stride.value_or(options.kernel));
}

Value lp_pool1d(const Value& x, LpPool1dOptions options, SourceLocation where) {
  const LocationScope at(x, "lp_pool1d", where);
  require_line(x, "lp_pool1d");
  return as_line(window_norms(as_image(x), "lp_pool1d", options.power, {1, options.kernel},
                              {1, options.stride.value_or(options.kernel)}));
}

}  // namespace trireme::nn
