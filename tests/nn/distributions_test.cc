// Random numbers against their distributions: Kolmogorov-Smirnov tests of continuous ones and
// chi-squared tests of counts. The seeds are fixed, so a test passes always or never.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/session.h"

namespace trireme {
namespace {

constexpr std::int64_t kCount = 200'000;

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// The largest distance between the distribution function of the numbers and `cdf`. With n numbers
// of that distribution it is above 1.95 / sqrt(n) in one of 1000 cases.
double distance(std::vector<double> numbers, const std::function<double(double)>& cdf) {
  std::sort(numbers.begin(), numbers.end());
  const auto n = static_cast<double>(numbers.size());
  double largest = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double expected = cdf(numbers[i]), below = static_cast<double>(i) / n;
    largest = std::max({largest, expected - below, below + 1 / n - expected});
  }
  return largest;
}

void expect_distribution(const Tensor& drawn, const std::function<double(double)>& cdf,
                         const std::string& what) {
  const std::vector<double> numbers = drawn.cast(f64).to_vector<double>();
  EXPECT_LT(distance(numbers, cdf), 1.95 / std::sqrt(static_cast<double>(numbers.size()))) << what;
}

TEST(Distributions, UniformAndNormal) {
  for (const DType dtype : {f32, f64}) {
    for (const std::uint64_t seed : {0u, 1u, 123456789u}) {
      Program program("random");
      const Value uniform =
          random_uniform(program, {.shape = {kCount}, .low = -2, .high = 3, .dtype = dtype});
      const Value normal =
          random_normal(program, {.shape = {kCount}, .mean = 1, .stddev = 0.5, .dtype = dtype});
      Session session(program, {.seed = seed});
      const std::vector<Tensor> drawn = session.run({}, {uniform, normal});
      const std::string what = std::string(name_of(dtype)) + ", seed " + std::to_string(seed);
      expect_distribution(drawn[0], [](double x) { return (x + 2) / 5; }, "uniform " + what);
      expect_distribution(
          drawn[1], [](double x) { return normal_cdf((x - 1) / 0.5); }, "normal " + what);
    }
  }
}

// Neighbours, and numbers of two runs and of two streams, are independent: the sum of two uniform
// numbers has a triangular distribution.
TEST(Distributions, NumbersAreIndependent) {
  Program program("random");
  const Value a = random_uniform(program, {.shape = {kCount}});
  const Value b = random_uniform(program, {.shape = {kCount}});
  Session session(program);
  const std::vector<Tensor> first = session.run({}, {a, b}), second = session.run({}, {a, b});
  const auto triangular = [](double x) { return x < 1 ? x * x / 2 : 1 - (2 - x) * (2 - x) / 2; };
  const auto expect_independent = [&](const float* x, const float* y, std::int64_t n,
                                      std::int64_t step, const char* what) {
    Tensor sums(f64, {n});
    for (std::int64_t i = 0; i < n; ++i) {
      sums.data<double>()[i] = double(x[i * step]) + double(y[i * step]);
    }
    expect_distribution(sums, triangular, what);
  };
  const float* x = first[0].data<float>();
  expect_independent(x, x + 1, kCount / 2, 2, "neighbours");
  expect_independent(x, first[1].data<float>(), kCount, 1, "streams");
  expect_independent(x, second[0].data<float>(), kCount, 1, "runs");
}

// The squared distance from the expected counts has n - 1 degrees of freedom. It is above
// n - 1 + 3.1 sqrt(2 (n - 1)) + 6 in fewer than one of 1000 cases.
double chi_squared(const std::vector<double>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  }
  return sum;
}
double bound(std::size_t cells) {
  const auto free = static_cast<double>(cells - 1);
  return free + 3.1 * std::sqrt(2 * free) + 6;
}

TEST(Distributions, BernoulliAndDropout) {
  for (const double p : {0.5, 0.1, 0.001, 0.0, 1.0}) {
    Program program("random");
    const Value x = program.input("x", f32, {kCount});
    const Value drawn = random_bernoulli(program, {.shape = {kCount}, .probability = p});
    const std::vector<Value> fetches = {
        sum(drawn), sum(cast(nn::dropout(x, {.rate = p * 0.9}) > 0.0, {.dtype = f32}))};
    Session session(program);
    Tensor ones(f32, {kCount});
    std::fill_n(ones.data<float>(), kCount, 1.0f);
    const std::vector<Tensor> got = session.run({{"x", ones}}, fetches, {.training = true});
    const auto expect_share = [&](double successes, double share, const char* what) {
      if (share == 0 || share == 1) {
        EXPECT_EQ(successes, share * kCount) << what;
        return;
      }
      EXPECT_LT(
          chi_squared({successes, kCount - successes}, {share * kCount, (1 - share) * kCount}),
          bound(2))
          << what << " of " << share;
    };
    expect_share(got[0].item<float>(), p, "bernoulli");
    expect_share(got[1].item<float>(), 1 - p * 0.9, "dropout");
  }
}

// The last digits too: of 256 cells of each of 8 bits of the numbers.
TEST(Distributions, UniformInEveryBit) {
  Program program("random");
  const Value a = random_uniform(program, {.shape = {kCount}});
  Session session(program);
  const Tensor drawn = session.run({}, {a})[0];
  for (const int shift : {0, 8, 16}) {
    std::vector<double> counts(256, 0.0), expected(256, kCount / 256.0);
    for (std::int64_t i = 0; i < kCount; ++i) {
      const auto bits = static_cast<std::uint32_t>(drawn.data<float>()[i] * 16777216.0f);
      ++counts[bits >> shift & 0xff];
    }
    EXPECT_LT(chi_squared(counts, expected), bound(256)) << shift;
  }
}

}  // namespace
}  // namespace trireme
