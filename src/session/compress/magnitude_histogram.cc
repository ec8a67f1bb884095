#include "session/compress/magnitude_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trireme {
namespace {

constexpr std::size_t kBins = 4096;

}  // namespace

// The range doubles when a value is beyond it; two bins become one. So the result does not depend
// on how the values are cut into batches.
void MagnitudeHistogram::add(std::span<const float> values) {
  double largest = largest_;
  for (const float value : values) {
    largest = std::max(largest, static_cast<double>(std::fabs(value)));
    has_negative_ = has_negative_ || value < 0;
  }
  largest_ = largest;
  count_ += static_cast<std::int64_t>(values.size());
  if (bins_.empty()) bins_.assign(kBins, 0.0);
  if (range_ == 0 && largest > 0) {
    range_ = std::exp2(std::ceil(std::log2(largest)));
  }
  while (range_ < largest) {
    for (std::size_t i = 0; i < kBins; ++i) {
      bins_[i] = i < kBins / 2 ? bins_[2 * i] + bins_[2 * i + 1] : 0;
    }
    range_ *= 2;
  }
  const double scale = range_ > 0 ? static_cast<double>(kBins) / range_ : 0;
  for (const float value : values) {
    const auto bin = static_cast<std::size_t>(static_cast<double>(std::fabs(value)) * scale);
    bins_[std::min(bin, kBins - 1)] += 1;
  }
}

double MagnitudeHistogram::limit(const QuantizeOptions& options, int levels) const {
  if (largest_ == 0) return 0;
  double limit = largest_;
  switch (options.range) {
    case QuantizeOptions::Range::min_max: break;
    case QuantizeOptions::Range::percentile: limit = percentile(options.percentile); break;
    case QuantizeOptions::Range::entropy: limit = least_divergence(levels); break;
    case QuantizeOptions::Range::mse: limit = least_squares(levels); break;
  }
  return std::min(limit, largest_);
}

double MagnitudeHistogram::percentile(double percent) const {
  const double wanted = static_cast<double>(count_) * percent / 100;
  double below = 0;
  for (std::size_t i = 0; i < kBins; ++i) {
    below += bins_[i];
    if (below >= wanted) return width() * static_cast<double>(i + 1);
  }
  return largest_;
}

// The error of values between levels is uniform: step^2 / 12. Clipped values lose their excess.
double MagnitudeHistogram::least_squares(int levels) const {
  double best = largest_, least = std::numeric_limits<double>::infinity();
  constexpr int kTries = 100;
  for (int i = 1; i <= kTries; ++i) {
    const double limit = largest_ * i / kTries, step = limit / levels;
    double error = 0;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      if (bins_[bin] == 0) continue;
      const double value = width() * (static_cast<double>(bin) + 0.5);
      const double excess = value - limit;
      // Values in the first bin may be exact zeros, and values below half a step become zero.
      const double rounded = std::min(step * step / 12, value * value);
      error += bins_[bin] * (excess > 0 ? excess * excess : rounded);
    }
    if (error < least) {
      least = error;
      best = limit;
    }
  }
  return best;
}

// For every limit: the counts up to it, with the clipped ones added to the last bin, against the
// same counts spread evenly over the bins of each level. Zeros are exact, so the first bin does not
// take part.
double MagnitudeHistogram::least_divergence(int levels) const {
  double best = largest_, least = std::numeric_limits<double>::infinity();
  const auto last =
      static_cast<std::size_t>(std::min(static_cast<double>(kBins), std::ceil(largest_ / width())));
  const auto first_try = static_cast<std::size_t>(levels);
  for (std::size_t n = std::min(first_try, last); n <= last; n += 8) {
    std::vector<double> p(bins_.begin(), bins_.begin() + static_cast<std::ptrdiff_t>(n));
    p[0] = 0;
    std::vector<double> q = p;
    for (std::size_t i = n; i < last; ++i) p[n - 1] += bins_[i];
    const double per_level = static_cast<double>(n) / levels;
    for (int level = 0; level < levels; ++level) {
      const auto begin = static_cast<std::size_t>(level * per_level);
      const auto end =
          std::min(n, std::max(begin + 1, static_cast<std::size_t>((level + 1) * per_level)));
      double sum = 0, used = 0;
      for (std::size_t i = begin; i < end; ++i) {
        sum += q[i];
        used += q[i] > 0 ? 1 : 0;
      }
      for (std::size_t i = begin; i < end; ++i) q[i] = q[i] > 0 ? sum / used : 0;
    }
    double total_p = 0, total_q = 0, divergence = 0;
    for (std::size_t i = 0; i < n; ++i) total_p += p[i], total_q += q[i];
    if (total_p == 0 || total_q == 0) continue;
    for (std::size_t i = 0; i < n; ++i) {
      if (p[i] == 0) continue;
      constexpr double kTiny = 1e-9;  // of a bin that only clipped values fill
      divergence += p[i] / total_p * std::log(p[i] / total_p / std::max(q[i] / total_q, kTiny));
    }
    if (divergence < least) {
      least = divergence;
      best = width() * static_cast<double>(n);
    }
  }
  return best;
}

}  // namespace trireme
