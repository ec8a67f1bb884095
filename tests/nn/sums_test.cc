// Sums of many f32 numbers, against sums in double: each has a relative error of at most 1e-6.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "blocks.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/optimizer.h"
#include "trireme/ragged.h"
#include "trireme/sequence.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

constexpr double kBound = 1e-6;

using Fill = std::function<float(std::int64_t i)>;

// A number in [0, 1).
float uniform(std::int64_t i) {
  const auto mixed = static_cast<std::uint32_t>(i) * 2654435761u;
  return static_cast<float>((mixed ^ mixed >> 15) >> 8) / 16777216.0f;
}

Tensor filled(std::vector<std::int64_t> shape, const Fill& fill) {
  Tensor x = Tensor::uninitialized(f32, std::move(shape));
  for (std::int64_t i = 0; i < x.elements(); ++i) x.data<float>()[i] = fill(i);
  return x;
}

// The sums along the axis of a matrix in double.
std::vector<double> sums_of(const Tensor& x, int axis) {
  std::vector<double> sums(static_cast<std::size_t>(x.dim(1 - axis)), 0.0);
  for (std::int64_t i = 0; i < x.dim(0); ++i) {
    for (std::int64_t j = 0; j < x.dim(1); ++j) {
      sums[static_cast<std::size_t>(axis == 0 ? j : i)] +=
          double(x.data<float>()[i * x.dim(1) + j]);
    }
  }
  return sums;
}

double worst_error(const Tensor& got, const std::vector<double>& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(double(got.data<float>()[i]) / expected[i] - 1));
  }
  return worst;
}

// Sizes that are constants and sizes that are known at run time only.
TEST(Sums, AlongEachAxisOfAMatrix) {
  const std::vector<std::vector<std::int64_t>> shapes = {{300'000, 1}, {1, 300'000}, {300, 1003},
                                                         {40'000, 8},  {8, 40'000},  {9'001, 33}};
  const std::vector<Fill> fills = {uniform, [](std::int64_t) { return 0.1f; },
                                   [](std::int64_t i) { return 1 + 1e-3f * float(i % 7); }};
  for (const auto& shape : shapes) {
    for (const bool constant : {true, false}) {
      Program program("sums");
      const Value x = program.input(
          "x", f32, constant ? Shape{shape[0], shape[1]} : Shape{batch, Dim("width")});
      const Value count = dim_size(x, {.dtype = f32});
      const std::vector<Value> fetches = {sum(x, {.axes = {0}}), sum(x, {.axes = {1}}), sum(x),
                                          mean(x) * count};
      Session session(program);
      for (const Fill& fill : fills) {
        const Tensor input = filled(shape, fill);
        const std::vector<Tensor> got = session.run({{"x", input}}, fetches);
        const std::vector<double> columns = sums_of(input, 0);
        const double total = std::accumulate(columns.begin(), columns.end(), 0.0);
        const std::string what = input.type_str() + (constant ? " constant" : "");
        EXPECT_LE(worst_error(got[0], columns), kBound) << what;
        EXPECT_LE(worst_error(got[1], sums_of(input, 1)), kBound) << what;
        EXPECT_LE(worst_error(got[2], {total}), kBound) << what;
        EXPECT_LE(worst_error(got[3], {total}), kBound) << what;
      }
    }
  }
}

// Beyond 2^24 a sum in f32 no longer changes.
TEST(Sums, OfMoreOnesThanAFloatCounts) {
  constexpr std::int64_t kOnes = 20'000'000;
  Program program("ones");
  const Value x = program.input("x", f32, {batch, 1});
  Session session(program);
  Tensor ones = Tensor::uninitialized(f32, {kOnes, 1});
  std::fill_n(ones.data<float>(), kOnes, 1.0f);
  const std::vector<Tensor> got =
      session.run({{"x", ones}}, {sum(x, {.axes = {0}}), mean(x, {.axes = {0}}), sum(x)});
  EXPECT_EQ(got[0].data<float>()[0], float(kOnes));
  EXPECT_EQ(got[1].data<float>()[0], 1);
  EXPECT_EQ(got[2].data<float>()[0], float(kOnes));
}

TEST(Sums, OfInfinityAndNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  Program program("special");
  const Value x = program.input("x", f32, {batch, 4});
  Session session(program);
  const auto fill = [&](std::int64_t i) {
    if (i == 4001) return infinity;
    if (i == 2 || i == 8002) return i == 2 ? infinity : -infinity;
    return i == 5003 ? std::nanf("") : 1.0f;
  };
  const Tensor sums = session.run({{"x", filled({5000, 4}, fill)}}, {sum(x, {.axes = {0}})})[0];
  EXPECT_EQ(sums.data<float>()[0], 5000);
  EXPECT_EQ(sums.data<float>()[1], infinity);
  EXPECT_TRUE(std::isnan(sums.data<float>()[2])) << "infinities of both signs";
  EXPECT_TRUE(std::isnan(sums.data<float>()[3]));
  const Tensor none = session.run({{"x", Tensor(f32, {0, 4})}}, {mean(x, {.axes = {0}})})[0];
  EXPECT_TRUE(std::isnan(none.data<float>()[0])) << "the mean of no rows";
}

// Several passes over a row, reductions over separate axes, and results stored in place.
TEST(Sums, FusedWithOtherOps) {
  Program program("fused");
  const Value x = program.input("x", f32, {batch, Dim("width")});
  const Value y = program.input("y", f32, {batch, 5, Dim("width")});
  const Value z = program.input("z", f32, {batch, 3, 40, 50});
  const auto noise = [](std::int64_t i) { return std::sin(0.37f * float(i)); };
  const Value softmax = nn::softmax(x), normal = nn::log_softmax(x * 2.0);
  const std::vector<Value> fetches = {softmax,
                                      normal,
                                      sum(y * y, {.axes = {0, 2}}),
                                      sum(y, {.axes = {1}}),
                                      mean(z, {.axes = {0, 2, 3}}),
                                      sum(exp(z), {.axes = {2}}),
                                      sum(x * softmax, {.axes = {0}})};
  for (const std::int64_t width : {1, 31, 1024, 1025, 5000}) {
    expect_compiled(program,
                    {{"x", filled({9, width}, noise)},
                     {"y", filled({9, 5, width}, noise)},
                     {"z", filled({9, 3, 40, 50}, noise)}},
                    fetches);
  }
}

TEST(Sums, BatchStatistics) {
  constexpr std::int64_t kRows = 200'000;
  Program program("batch_norm");
  const Value x = program.input("x", f32, {batch, 2});
  const Value y = nn::batch_norm(x, {.momentum = 1});
  Session session(program);
  std::mt19937 random(3);
  std::normal_distribution<float> noise(0, 1);
  const Tensor input =
      filled({kRows, 2}, [&](std::int64_t i) { return i % 2 == 0 ? 0.1f : 1e6f + noise(random); });
  session.run({{"x", input}}, {y}, {.training = true, .updates = true});
  double mean = 0, variance = 0;
  for (std::int64_t i = 1; i < 2 * kRows; i += 2) mean += double(input.data<float>()[i]) / kRows;
  for (std::int64_t i = 1; i < 2 * kRows; i += 2) {
    variance += std::pow(double(input.data<float>()[i]) - mean, 2) / (kRows - 1);
  }
  const auto means = session.parameter("batch_norm_0.running_mean").to_vector<float>();
  const auto variances = session.parameter("batch_norm_0.running_var").to_vector<float>();
  EXPECT_NEAR(means[0], 0.1, 1e-8);
  EXPECT_NEAR(variances[0], 0, 1e-14);
  EXPECT_NEAR(means[1] / mean, 1, 1e-7);
  EXPECT_NEAR(variances[1] / variance, 1, 1e-3);
}

// Gradients of a bias, of rows of a table, and sums over sequences.
TEST(Sums, OfGradientsAndSequences) {
  constexpr std::int64_t kRows = 100'000;
  Program program("gradients");
  const Value b = program.parameter("b", f32, {3});
  const Value table = program.parameter("table", f32, {2, 5});
  const Value g = program.input("g", f32, {batch, 3});
  const Value ids = program.input("ids", i64, {batch});
  const Value h = program.input("h", f32, {batch, 5});
  minimize(sum((g + b) * g) + sum(gather(table, ids) * h), Sgd{.learning_rate = 1});
  Session session(program);
  session.set_parameter("b", Tensor(f32, {3}));
  session.set_parameter("table", Tensor(f32, {2, 5}));
  const Tensor weights = filled({kRows, 3}, uniform), lines = filled({kRows, 5}, uniform);
  Tensor rows(i64, {kRows});
  for (std::int64_t i = 0; i < kRows; ++i) rows.data<std::int64_t>()[i] = i % 10 == 0 ? 1 : 0;
  session.run({{"g", weights}, {"ids", rows}, {"h", lines}}, {},
              {.training = true, .updates = true});
  std::vector<double> of_b = sums_of(weights, 0), of_table(10, 0.0);
  for (double& v : of_b) v = -v;
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      of_table[static_cast<std::size_t>((i % 10 == 0 ? 5 : 0) + j)] -=
          double(lines.data<float>()[i * 5 + j]);
    }
  }
  EXPECT_LE(worst_error(session.parameter("b"), of_b), kBound);
  EXPECT_LE(worst_error(session.parameter("table"), of_table), kBound);

  Program sequences("sequences");
  const Value words = sequences.input("words", f32, ragged({batch}, {5}));
  Session sums(sequences);
  const Tensor splits = Tensor::from<std::int64_t>({4}, {0, kRows - 40, kRows - 40, kRows});
  const Tensor got =
      sums.run({{"words", lines}, {"words.splits", splits}}, {sequence::sum(words)})[0];
  for (std::int64_t j = 0; j < 5; ++j) {
    double first = 0, last = 0;
    for (std::int64_t i = 0; i < kRows; ++i) {
      (i < kRows - 40 ? first : last) += double(lines.data<float>()[i * 5 + j]);
    }
    EXPECT_NEAR(double(got.data<float>()[j]) / first, 1, kBound);
    EXPECT_EQ(got.data<float>()[5 + j], 0);
    EXPECT_NEAR(double(got.data<float>()[10 + j]) / last, 1, kBound);
  }
}

TEST(Sums, OfUpdatesAlongAnAxis) {
  constexpr std::int64_t kUpdates = 100'000;
  Program program("updates");
  const Value indices = program.input("indices", i64, {2, kUpdates});
  const Value updates = program.input("updates", f32, {2, kUpdates});
  Session session(program);
  Tensor places(i64, {2, kUpdates});
  for (std::int64_t i = 0; i < 2 * kUpdates; ++i) places.data<std::int64_t>()[i] = i % 3;
  const Tensor numbers = filled({2, kUpdates}, uniform);
  const Tensor got = session.run({{"indices", places}, {"updates", numbers}},
                                 {scatter_add_along_axis(indices, updates, {.size = {3}})})[0];
  std::vector<double> expected(6, 0.0);
  for (std::int64_t i = 0; i < 2 * kUpdates; ++i) {
    expected[static_cast<std::size_t>(i / kUpdates * 3 + i % 3)] +=
        double(numbers.data<float>()[i]);
  }
  EXPECT_LE(worst_error(got, expected), kBound);
}

// The gradient of b needs the number of rows, but no row.
TEST(Sums, GradientOfAConstantForEachRow) {
  Program program("rows");
  const Value x = program.input("x", f32, {batch, 2});
  const Value b = program.parameter("b", f32, {2});
  minimize(sum((x + b) * 0.1), Sgd{.learning_rate = 1});
  Session session(program);
  session.set_parameter("b", Tensor(f32, {2}));
  session.run({{"x", Tensor(f32, {30, 2})}}, {}, {.training = true, .updates = true});
  EXPECT_FLOAT_EQ(session.parameter("b").data<float>()[0], -3);
  session.run({{"x", Tensor(f32, {0, 2})}}, {}, {.training = true, .updates = true});
  EXPECT_FLOAT_EQ(session.parameter("b").data<float>()[1], -3);
}

}  // namespace
}  // namespace trireme
