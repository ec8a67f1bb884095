// Compiled ops at special values: zeros of both signs, infinity, NaN, ties, and no elements.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/optimizer.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

// All pairs of special values.
template <class T>
void check_atan2(DType dtype) {
  const std::vector<T> special = {T(0),
                                  -T(0),
                                  T(1),
                                  T(-1),
                                  std::numeric_limits<T>::denorm_min(),
                                  -std::numeric_limits<T>::max(),
                                  std::numeric_limits<T>::max(),
                                  kInfinity<T>,
                                  -kInfinity<T>,
                                  kNan<T>};
  std::vector<T> ys, xs;
  for (const T y : special) {
    for (const T x : special) ys.push_back(y), xs.push_back(x);
  }
  const auto count = static_cast<std::int64_t>(ys.size());
  Program program("atan2");
  const Value y = program.input("y", dtype, {batch}), x = program.input("x", dtype, {batch});
  Session session(program);
  const std::vector<Tensor> results = session.run(
      {{"y", Tensor::from<T>({count}, ys)}, {"x", Tensor::from<T>({count}, xs)}}, {atan2(y, x)});
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const T expected = std::atan2(ys[i], xs[i]), got = results[0].data<T>()[i];
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got)) << ys[i] << ", " << xs[i];
    } else {
      EXPECT_NEAR(got, expected, 4 * std::numeric_limits<T>::epsilon()) << ys[i] << ", " << xs[i];
      EXPECT_EQ(std::signbit(got), std::signbit(expected)) << ys[i] << ", " << xs[i];
    }
  }
}

TEST(Edges, Atan2AsInC) {
  check_atan2<float>(f32);
  check_atan2<double>(f64);
}

TEST(Edges, CummaxTakesTheLastOfEqualElementsAndKeepsNan) {
  Program program("cummax");
  const Value x = program.input("x", f32, {batch, 7});
  const std::vector<Value> results = cummax(x, {.axis = 1});
  Session session(program);
  const std::vector<float> input = {1,
                                    1,
                                    -2,
                                    3,
                                    3,
                                    2,
                                    3,  //
                                    -kInfinity<float>,
                                    0,
                                    -0.0f,
                                    kNan<float>,
                                    5,
                                    kNan<float>,
                                    9,  //
                                    2,
                                    1,
                                    0,
                                    -1,
                                    -2,
                                    -3,
                                    kInfinity<float>};
  const std::vector<Tensor> got =
      session.run({{"x", Tensor::from<float>({3, 7}, input)}}, {results[0], results[1]});
  const std::vector<std::int64_t> indices = {0, 1, 1, 3, 4, 4, 6, 0, 1, 2, 3,
                                             3, 5, 5, 0, 0, 0, 0, 0, 0, 6};
  EXPECT_EQ(got[1].to_vector<std::int64_t>(), indices);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const float expected = input[i / 7 * 7 + static_cast<std::size_t>(indices[i])];
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got[0].data<float>()[i]),
              std::bit_cast<std::uint32_t>(expected))
        << i;
  }
  const std::vector<Tensor> none =
      session.run({{"x", Tensor::from<float>({0, 7}, {})}}, {results[0], results[1]});
  EXPECT_EQ(none[0].elements(), 0);
  EXPECT_EQ(none[1].elements(), 0);
}

TEST(Edges, BatchNormOfNoRowsKeepsItsRunningStatistics) {
  Program program("batch_norm");
  const Value x = program.input("x", f32, {batch, 2});
  const Value y = nn::batch_norm(x);
  Session session(program);
  const auto train = [&](std::int64_t rows, const std::vector<float>& values) {
    session.run({{"x", Tensor::from<float>({rows, 2}, values)}}, {y},
                {.training = true, .updates = true});
  };
  train(2, {1, 2, 3, 6});
  const std::vector<float> mean = session.parameter("batch_norm_0.running_mean").to_vector<float>();
  const std::vector<float> variance =
      session.parameter("batch_norm_0.running_var").to_vector<float>();
  train(0, {});
  EXPECT_EQ(session.parameter("batch_norm_0.running_mean").to_vector<float>(), mean);
  EXPECT_EQ(session.parameter("batch_norm_0.running_var").to_vector<float>(), variance);
}

// Their squares are beyond f32.
TEST(Edges, ClippingByANormOfHugeGradients) {
  for (const Clip& clip : {Clip{.norm = 1}, Clip{.global_norm = 1}}) {
    Program program("clip");
    const Value p = program.parameter("p", f32, {2});
    const Value g = program.input("g", f32, {2});
    minimize(sum(p * g), Sgd{.learning_rate = 1, .clip = clip});
    Session session(program);
    session.set_parameter("p", Tensor::from<float>({2}, {0, 0}));
    session.run({{"g", Tensor::from<float>({2}, {3e19f, -3e19f})}}, {},
                {.training = true, .updates = true});
    const std::vector<float> stepped = session.parameter("p").to_vector<float>();
    EXPECT_FLOAT_EQ(stepped[0], -std::sqrt(0.5f));
    EXPECT_FLOAT_EQ(stepped[1], std::sqrt(0.5f));
  }
}

// Where numbers are far apart, rounding would often give the upper end.
TEST(Edges, RandomNumbersStayBelowTheUpperEnd) {
  constexpr std::int64_t kCount = 1'000'000;
  Program program("uniform");
  const Value far =
      random_uniform(program, {.shape = {kCount}, .stream = 1, .low = 1000, .high = 1001});
  const Value tenth =
      random_uniform(program, {.shape = {kCount}, .stream = 2, .low = -0.1, .high = 0.1});
  const Value wide = random_uniform(
      program, {.shape = {kCount}, .stream = 3, .low = 1e15, .high = 1e15 + 1, .dtype = f64});
  Session session(program);
  const std::vector<Tensor> drawn = session.run({}, {far, tenth, wide});
  const auto expect_inside = [](const auto& values, double low, double high) {
    const auto [least, largest] = std::minmax_element(values.begin(), values.end());
    EXPECT_GE(*least, low);
    EXPECT_LT(*largest, high);
  };
  expect_inside(drawn[0].to_vector<float>(), 1000, 1001);
  expect_inside(drawn[1].to_vector<float>(), -0.1, 0.1);
  expect_inside(drawn[2].to_vector<double>(), 1e15, 1e15 + 1);
}

}  // namespace
}  // namespace trireme
