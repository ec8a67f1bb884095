#include "ops/philox.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trireme::ops {
namespace {

// The published known-answer vectors of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(Philox, Philox4x32AgreesWithPublishedVectors) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxWords{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  const std::uint32_t ones = 0xffffffffu;
  EXPECT_EQ(philox4x32_10({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxWords{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox4x32_10({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                          {0xa4093822u, 0x299f31d0u}),
            (PhiloxWords{0xd16cfe09u, 0x94fdcceb, 0x5001e420u, 0x24126ea1u}));
}

// philox2x32 with 7 and with 10 rounds, from the same list.
TEST(Philox, Philox2x32AgreesWithPublishedVectors) {
  using Words = std::array<std::uint32_t, 2>;
  const std::uint32_t ones = 0xffffffffu;
  EXPECT_EQ(philox2x32({0, 0}, 0, 7), (Words{0x257a3673u, 0xcd26be2au}));
  EXPECT_EQ(philox2x32({ones, ones}, ones, 7), (Words{0xab302c4du, 0x3dc9d239u}));
  EXPECT_EQ(philox2x32({0x243f6a88u, 0x85a308d3u}, 0x13198a2eu, 7),
            (Words{0xbedbbe6bu, 0xe4c770b3u}));
  EXPECT_EQ(philox2x32({0, 0}, 0, 10), (Words{0xff1dae59u, 0x6cd10df2u}));
  EXPECT_EQ(philox2x32({ones, ones}, ones, 10), (Words{0x2c3f628bu, 0xab4fd7adu}));
  EXPECT_EQ(philox2x32({0x243f6a88u, 0x85a308d3u}, 0x13198a2eu, 10),
            (Words{0xdd7ce038u, 0xf62a4c12u}));
}

TEST(Philox, RandomWordDependsOnSeedStreamAndWholePosition) {
  const std::uint64_t far = std::uint64_t{1} << 32;
  const std::uint32_t word = random_word(1, 2, 3);
  EXPECT_NE(word, random_word(1 + far, 2, 3));
  EXPECT_NE(word, random_word(1, 2 + far, 3));
  EXPECT_NE(word, random_word(1, 2, 3 + far));
  EXPECT_NE(word, random_word(1, 2, 4));
}

// Counts successes of a trial with probability 1/4, and of pairs of neighbors and of streams,
// which are independent. Bounds are five standard errors.
TEST(Philox, RandomWordsAreIndependentTrials) {
  constexpr int kCount = 400000;
  const std::int64_t threshold = bernoulli_threshold(0.25);
  const auto hit = [&](std::uint64_t stream, int i) {
    return random_word(5, stream, static_cast<std::uint64_t>(i)) < threshold;
  };
  double ones = 0, neighbors = 0, streams = 0;
  for (int i = 0; i < kCount; ++i) {
    ones += hit(1, i) ? 1 : 0;
    neighbors += hit(1, i) && hit(1, i + 1) ? 1 : 0;
    streams += hit(1, i) && hit(2, i) ? 1 : 0;
  }
  EXPECT_NEAR(ones / kCount, 0.25, 0.0035);
  EXPECT_NEAR(neighbors / kCount, 0.0625, 0.0023);
  EXPECT_NEAR(streams / kCount, 0.0625, 0.0020);
}

TEST(Philox, CounterHoldsPositionAndStream) {
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

TEST(Philox, UniformNumbersAreBelowOneAndNormalNumbersFinite) {
  const PhiloxWords largest = {0xffffffffu, 0xffffffffu, 0, 0}, smallest = {0, 0, 0, 0};
  for (DType dtype : {DType::f32, DType::f64}) {
    EXPECT_LT(uniform_number(largest, dtype), 1.0);
    EXPECT_EQ(uniform_number(smallest, dtype), 0.0);
    EXPECT_TRUE(std::isfinite(normal_number(largest, dtype)));
    EXPECT_EQ(normal_number(smallest, dtype), 0.0);
  }
}

TEST(Philox, BernoulliThresholdCoversProbabilitiesZeroAndOne) {
  EXPECT_EQ(bernoulli_threshold(0), 0);
  EXPECT_EQ(bernoulli_threshold(0.5), std::int64_t{1} << 31);
  EXPECT_EQ(bernoulli_threshold(1), std::int64_t{1} << 32);
}

}  // namespace
}  // namespace trireme::ops
