#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "nn/testing/running.h"
#include "trireme/convolution.h"

namespace trireme::nn {
namespace {

std::vector<double> values_of(const Initializer& initializer, Shape shape, std::uint64_t seed = 1,
                              const char* name = "w") {
  Program program;
  const Value w = program.parameter(name, f64, std::move(shape), {.initializer = initializer});
  return initialize(program.ir().parameter_of(w.get()), seed).to_vector<double>();
}

double mean_of(const std::vector<double>& v) {
  double total = 0;
  for (const double x : v) total += x;
  return total / static_cast<double>(v.size());
}
double variance_of(const std::vector<double>& v) {
  const double mean = mean_of(v);
  double total = 0;
  for (const double x : v) total += (x - mean) * (x - mean);
  return total / static_cast<double>(v.size());
}
double largest(const std::vector<double>& v) {
  double result = 0;
  for (const double x : v) result = std::max(result, std::abs(x));
  return result;
}

TEST(Initialize, ValuesAreTheGivenOnes) {
  EXPECT_EQ(values_of(values({1, -2.5, 3, 4, 5, 6}), {2, 3}),
            (std::vector<double>{1, -2.5, 3, 4, 5, 6}));
  EXPECT_TRUE(values_of(values({}), {0, 3}).empty());
  EXPECT_THROW(values_of(values({1, 2}), {3}), Error);
}

// The variance times the number of inputs of a result is the squared gain of the activation.
TEST(Initialize, DefaultsFitTheActivation) {
  const auto variance_in = [](const Program& program, const char* name) {
    const ir::Parameter& weight = *program.ir().find_parameter(name);
    return variance_of(initialize(weight, 1).cast(f64).to_vector<double>());
  };
  const std::vector<std::pair<Activation, double>> gains = {
      {tanh, 25.0 / 9},         {relu, 2},        {sigmoid, 1}, {gelu, 2},
      {leaky_relu, 2 / 1.0001}, {LeakyRelu{1}, 1}};
  for (const auto& [activation, squared] : gains) {
    Program program;
    const Value x = program.input("x", f32, {batch, 400});
    linear(x, {.units = 500, .activation = activation});
    EXPECT_NEAR(variance_in(program, "linear_0.weight") * 400, squared, 0.02 * squared);
    const Value image = program.input("image", f32, {batch, 64, 4, 4});
    conv_transpose2d(image, {.channels = 3, .kernel = 4, .stride = 2, .activation = activation});
    EXPECT_NEAR(variance_in(program, "conv_transpose2d_0.weight") * 64 * 16 / 4, squared,
                0.05 * squared);
  }
}

TEST(Initialize, HasTheDocumentedVariance) {
  // [in, out] = [200, 300]; [out, in, h, w] = [40, 50, 3, 3] has fans 450 and 360.
  EXPECT_NEAR(variance_of(values_of(xavier_uniform(), {200, 300})), 2.0 / 500, 1e-4);
  EXPECT_NEAR(variance_of(values_of(xavier_normal(2), {200, 300})), 8.0 / 500, 4e-4);
  EXPECT_NEAR(variance_of(values_of(kaiming_uniform(), {200, 300})), 2.0 / 200, 2e-4);
  EXPECT_NEAR(variance_of(values_of(kaiming_normal(), {40, 50, 3, 3})), 2.0 / 450, 2e-4);
  EXPECT_NEAR(variance_of(values_of(xavier_uniform(), {40, 50, 3, 3})), 2.0 / 810, 1e-4);
  EXPECT_LE(largest(values_of(kaiming_uniform(), {200, 300})), std::sqrt(6.0 / 200));
  EXPECT_NEAR(variance_of(values_of(normal(3, 0.5), {50000})), 0.25, 0.01);
  EXPECT_NEAR(mean_of(values_of(normal(3, 0.5), {50000})), 3, 0.02);
  const auto truncated = values_of(truncated_normal(0, 0.5), {50000});
  EXPECT_LE(largest(truncated), 1);
  EXPECT_GT(largest(truncated), 0.99);
  EXPECT_NEAR(variance_of(truncated), 0.25 * 0.7737, 0.01);
  EXPECT_EQ(values_of(constant(2.5), {2}), (std::vector<double>{2.5, 2.5}));
  EXPECT_EQ(values_of(Initializer{}, {2}), (std::vector<double>{0, 0}));
}

TEST(Initialize, OrthogonalRowsOrColumnsAreOrthogonal) {
  for (const auto& [rows, columns] : {std::pair{5, 12}, std::pair{12, 5}, std::pair{7, 7}}) {
    const auto v = values_of(orthogonal(2), {rows, columns});
    const bool by_rows = rows <= columns;
    const int count = std::min(rows, columns), length = std::max(rows, columns);
    for (int a = 0; a < count; ++a) {
      for (int b = 0; b < count; ++b) {
        double dot = 0;
        for (int i = 0; i < length; ++i) {
          const auto at = [&](int k) {
            return v[static_cast<std::size_t>(by_rows ? k * columns + i : i * columns + k)];
          };
          dot += at(a) * at(b);
        }
        EXPECT_NEAR(dot, a == b ? 4 : 0, 1e-12);
      }
    }
  }
}

TEST(Initialize, DependsOnSeedAndNameOnly) {
  EXPECT_EQ(values_of(normal(), {9}), values_of(normal(), {9}));
  EXPECT_NE(values_of(normal(), {9}), values_of(normal(), {9}, 2));
  EXPECT_NE(values_of(normal(), {9}), values_of(normal(), {9}, 1, "v"));
}

TEST(Initialize, RejectsUnknownInitializersAndIntegers) {
  EXPECT_THROW(values_of(Initializer{"kaiming_unifrom", {}}, {2, 2}), Error);
  Program program;
  const Value w = program.parameter("n", i64, {2}, {.initializer = normal()});
  EXPECT_THROW(initialize(program.ir().parameter_of(w.get()), 1), Error);
}

}  // namespace
}  // namespace trireme::nn
