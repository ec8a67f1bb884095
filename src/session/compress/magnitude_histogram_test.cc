#include "session/compress/magnitude_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace trireme {
namespace {

using Range = QuantizeOptions::Range;

std::vector<float> normal_numbers(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> numbers(n);
  for (float& number : numbers) number = distribution(random);
  return numbers;
}

// The squared error of rounding to `levels` levels on each side, clipped at `limit`.
double squared_error(const std::vector<float>& numbers, double limit, int levels) {
  double error = 0;
  for (const float number : numbers) {
    const double step = limit / levels;
    const double level =
        std::clamp(std::nearbyint(static_cast<double>(number) / step), -1.0 * levels, 1.0 * levels);
    error += std::pow(static_cast<double>(number) - step * level, 2);
  }
  return error;
}

TEST(MagnitudeHistogram, LimitsOfEdges) {
  for (const Range range : {Range::min_max, Range::percentile, Range::entropy, Range::mse}) {
    MagnitudeHistogram empty;
    EXPECT_EQ(empty.limit({.range = range}, 127), 0);
    MagnitudeHistogram zeros;
    zeros.add(std::vector<float>{0.0f, -0.0f});
    EXPECT_EQ(zeros.limit({.range = range}, 127), 0);
    EXPECT_FALSE(zeros.has_negative());
    MagnitudeHistogram one;
    one.add(std::vector<float>{-3.0f});
    EXPECT_TRUE(one.has_negative());
    EXPECT_NEAR(one.limit({.range = range}, 127), 3, 0.05);
    MagnitudeHistogram huge;
    huge.add(std::vector<float>{std::numeric_limits<float>::max(), 1.0f});
    EXPECT_TRUE(std::isfinite(huge.limit({.range = range}, 127)));
    MagnitudeHistogram tiny;
    tiny.add(std::vector<float>{std::numeric_limits<float>::denorm_min()});
    EXPECT_LE(tiny.limit({.range = range}, 127), tiny.largest());
  }
}

TEST(MagnitudeHistogram, DoesNotDependOnBatches) {
  const std::vector<float> numbers = normal_numbers(1000, 3);
  MagnitudeHistogram whole, parts;
  whole.add(numbers);
  for (std::size_t i = 0; i < numbers.size(); i += 50) {
    parts.add(std::span(numbers).subspan(i, 50));
  }
  for (const Range range : {Range::min_max, Range::percentile, Range::entropy, Range::mse}) {
    EXPECT_NEAR(whole.limit({.range = range}, 127), parts.limit({.range = range}, 127), 0.01);
  }
}

TEST(MagnitudeHistogram, PercentileOfKnownNumbers) {
  std::vector<float> numbers;
  for (int i = 1; i <= 1000; ++i) numbers.push_back(static_cast<float>(i));
  MagnitudeHistogram histogram;
  histogram.add(numbers);
  EXPECT_NEAR(histogram.limit({.range = Range::percentile, .percentile = 90}, 255), 900, 1);
  EXPECT_EQ(histogram.limit({.range = Range::percentile, .percentile = 100}, 255), 1000);
  EXPECT_EQ(histogram.limit({.range = Range::min_max}, 255), 1000);
}

// With few levels a normal distribution is clipped. The best limit is found by trying all.
TEST(MagnitudeHistogram, LeastSquaredErrorIsNearTheBest) {
  const std::vector<float> numbers = normal_numbers(20000, 5);
  MagnitudeHistogram histogram;
  histogram.add(numbers);
  for (const int levels : {7, 127}) {
    double best = std::numeric_limits<double>::infinity();
    for (int i = 1; i <= 200; ++i) {
      best = std::min(best, squared_error(numbers, histogram.largest() * i / 200, levels));
    }
    const double limit = histogram.limit({.range = Range::mse}, levels);
    EXPECT_LT(squared_error(numbers, limit, levels), 1.05 * best) << levels << " levels";
    EXPECT_LT(limit, histogram.largest());
  }
}

// One value far away from all others is clipped.
TEST(MagnitudeHistogram, EntropyIgnoresAnOutlier) {
  std::vector<float> numbers = normal_numbers(100000, 7);
  numbers.push_back(100);
  MagnitudeHistogram histogram;
  histogram.add(numbers);
  const double limit = histogram.limit({.range = Range::entropy}, 127);
  EXPECT_GT(limit, 1);
  EXPECT_LT(limit, 20);
}

}  // namespace
}  // namespace trireme
