#include "ops/philox.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trireme::ops {
namespace {

// The published known-answer vectors of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(Philox, GivesThePublishedVectors) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxWords{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  const std::uint32_t ones = 0xffffffffu;
  EXPECT_EQ(philox4x32_10({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxWords{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox4x32_10({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                          {0xa4093822u, 0x299f31d0u}),
            (PhiloxWords{0xd16cfe09u, 0x94fdcceb, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, CounterTakesPositionAndStream) {
  EXPECT_EQ(random_words(0x0000000200000001u, 0x0000000400000003u, 0x0000000600000005u),
            philox4x32_10({5, 6, 3, 4}, {1, 2}));
}

struct Moments {
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0;
};

template <class F>
Moments moments_of(F number) {
  constexpr int kCount = 200000;
  double sums[4] = {};
  for (int i = 0; i < kCount; ++i) {
    double x = number(i), power = x;
    for (double& sum : sums) {
      sum += power / kCount;
      power *= x;
    }
  }
  const double m = sums[0], v = sums[1] - m * m;
  const double third = sums[2] - 3 * m * sums[1] + 2 * m * m * m;
  const double fourth = sums[3] - 4 * m * sums[2] + 6 * m * m * sums[1] - 3 * m * m * m * m;
  return {m, v, third / std::pow(v, 1.5), fourth / (v * v)};
}

// Bounds are about five standard errors of the sample moments.
TEST(Philox, UniformNumbersHaveTheMomentsOfTheUniformDistribution) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const Moments m = moments_of([&](int i) {
      return uniform_number(random_words(7, 1, static_cast<std::uint64_t>(i)), dtype);
    });
    EXPECT_NEAR(m.mean, 0.5, 0.0033);
    EXPECT_NEAR(m.variance, 1.0 / 12, 0.0009);
    EXPECT_NEAR(m.skewness, 0, 0.02);
    EXPECT_NEAR(m.kurtosis, 1.8, 0.02);
  }
}

TEST(Philox, NormalNumbersHaveTheMomentsOfTheNormalDistribution) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const Moments m = moments_of([&](int i) {
      return normal_number(random_words(9, 2, static_cast<std::uint64_t>(i)), dtype);
    });
    EXPECT_NEAR(m.mean, 0, 0.012);
    EXPECT_NEAR(m.variance, 1, 0.016);
    EXPECT_NEAR(m.skewness, 0, 0.03);
    EXPECT_NEAR(m.kurtosis, 3, 0.06);
  }
}

TEST(Philox, UniformNumbersStayBelowOneAndNormalOnesFinite) {
  const PhiloxWords largest = {0xffffffffu, 0xffffffffu, 0, 0}, smallest = {0, 0, 0, 0};
  for (DType dtype : {DType::f32, DType::f64}) {
    EXPECT_LT(uniform_number(largest, dtype), 1.0);
    EXPECT_EQ(uniform_number(smallest, dtype), 0.0);
    EXPECT_TRUE(std::isfinite(normal_number(largest, dtype)));
    EXPECT_EQ(normal_number(smallest, dtype), 0.0);
  }
}

TEST(Philox, BernoulliThresholdCoversCertainAndImpossible) {
  EXPECT_EQ(bernoulli_threshold(0), 0);
  EXPECT_EQ(bernoulli_threshold(0.5), std::int64_t{1} << 31);
  EXPECT_EQ(bernoulli_threshold(1), std::int64_t{1} << 32);
}

}  // namespace
}  // namespace trireme::ops
