// Activations and losses without kinks: value and gradient at 0, far from it and at infinity,
// compiled, against formulas in long double. Pieces with different rules at a tie must not show.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "transforms/autodiff.h"
#include "trireme/functions.h"
#include "trireme/loss.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/optimizer.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Real = long double;

struct Smooth {
  std::string name;
  std::function<Value(const Value& x, const Value& target)> build;
  std::function<Real(Real)> value, slope;
  double target = 0;
};

Real sigmoid_of(Real x) { return 1 / (1 + std::exp(-x)); }
Real softplus_of(Real x) { return std::fmax(x, Real(0)) + std::log1p(std::exp(-std::fabs(x))); }

// -w (1 - p)^2 log p of the right class p, for target 1 and 0.
Real focal_of(Real z, Real weight) {
  return weight * std::exp(-2 * softplus_of(z)) * softplus_of(-z);
}
Real focal_slope(Real z, Real weight) {
  return weight * std::exp(-2 * softplus_of(z)) *
         (-2 * sigmoid_of(z) * softplus_of(-z) - sigmoid_of(-z));
}

std::vector<Smooth> smooth_functions() {
  const auto bce = [](const Value& x, const Value& target) {
    return nn::binary_cross_entropy_with_logits(x, target);
  };
  const auto focal = [](const Value& x, const Value& target) {
    return nn::focal(x, target, {.gamma = 2, .alpha = 0.25});
  };
  return {
      {"softplus", [](const Value& x, const Value&) { return nn::softplus(x); }, softplus_of,
       sigmoid_of},
      {"elu", [](const Value& x, const Value&) { return nn::elu(x); },
       [](Real x) { return x > 0 ? x : std::expm1(x); },
       [](Real x) { return x > 0 ? Real(1) : std::exp(x); }},
      {"binary cross entropy of 0", bce, softplus_of, sigmoid_of, 0},
      {"binary cross entropy of 1", bce, [](Real x) { return softplus_of(-x); },
       [](Real x) { return -sigmoid_of(-x); }, 1},
      {"focal of 1", focal, [](Real x) { return focal_of(x, 0.25L); },
       [](Real x) { return focal_slope(x, 0.25L); }, 1},
      {"focal of 0", focal, [](Real x) { return focal_of(-x, 0.75L); },
       [](Real x) { return -focal_slope(-x, 0.75L); }, 0},
  };
}

// Points where all of these functions are finite.
std::vector<double> points() {
  std::vector<double> all = {0.0, -0.0};
  for (const double size : {1e-38, 1e-8, 1e-6, 1e-3, 0.1, 1.0, 5.0, 20.0, 60.0}) {
    all.push_back(size);
    all.push_back(-size);
  }
  return all;
}

void expect_close(double got, Real expected, double epsilon, const std::string& what) {
  const auto wanted = static_cast<double>(expected);
  // Below the smallest normal number a relative error says nothing.
  EXPECT_NEAR(got, wanted, 8 * epsilon * std::abs(wanted) + 1e-37) << what;
}

template <class T>
void check(DType dtype) {
  for (const Smooth& smooth : smooth_functions()) {
    Program program;
    const Value x = program.input("x", dtype, {batch});
    const Value target = program.input("target", dtype, {batch});
    const Value y = smooth.build(x, target);
    const std::vector<ir::Value*> slopes = transforms::gradients(sum(y).get(), {x.get()});
    Session session(program);
    std::vector<T> at;
    for (const double point : points()) at.push_back(static_cast<T>(point));
    const auto count = static_cast<std::int64_t>(at.size());
    const std::vector<T> targets(at.size(), static_cast<T>(smooth.target));
    const std::vector<Tensor> results = session.run(
        {{"x", Tensor::from<T>({count}, at)}, {"target", Tensor::from<T>({count}, targets)}},
        {y, Value(slopes[0])});
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::string what = smooth.name + " at " + std::to_string(points()[i]);
      const double epsilon = std::numeric_limits<T>::epsilon();
      expect_close(results[0].data<T>()[i], smooth.value(at[i]), epsilon, what);
      expect_close(results[1].data<T>()[i], smooth.slope(at[i]), epsilon, "slope of " + what);
    }
  }
}

TEST(SmoothEdges, ValuesAndSlopesAreExact) {
  check<float>(f32);
  check<double>(f64);
}

TEST(SmoothEdges, SoftplusAtInfinityAndNan) {
  Program program;
  const Value x = program.input("x", f64, {4});
  const Value y = nn::softplus(x);
  const std::vector<ir::Value*> slopes = transforms::gradients(sum(y).get(), {x.get()});
  Session session(program);
  const std::vector<Tensor> results =
      session.run({{"x", Tensor::from<double>({4}, {kInfinity, -kInfinity, std::nan(""), 1e300})}},
                  {y, Value(slopes[0])});
  const std::vector<double> values = results[0].to_vector<double>();
  const std::vector<double> slope = results[1].to_vector<double>();
  EXPECT_EQ(values[0], kInfinity);
  EXPECT_EQ(values[1], 0);
  EXPECT_TRUE(std::isnan(values[2]) && std::isnan(slope[2]));
  EXPECT_EQ(values[3], 1e300);
  EXPECT_EQ(slope[0], 1);
  EXPECT_EQ(slope[1], 0);
  EXPECT_EQ(slope[3], 1);
}

// A logistic regression that starts at zero on balanced labels stays there.
TEST(SmoothEdges, ABalancedLogisticRegressionKeepsItsBias) {
  Program program;
  const Value x = program.input("x", f32, {batch, 1});
  const Value target = program.input("target", f32, {batch, 1});
  const Value logits =
      nn::linear(x, {.units = 1, .weight_init = nn::zeros(), .bias_init = nn::zeros()});
  const Value loss = mean(nn::binary_cross_entropy_with_logits(logits, target));
  minimize(loss, Sgd{.learning_rate = 1});
  Session session(program);
  session.run(
      {{"x", Tensor::from<float>({2, 1}, {1, 1})}, {"target", Tensor::from<float>({2, 1}, {0, 1})}},
      {loss}, {.training = true, .updates = true});
  EXPECT_EQ(session.parameter("linear_0.bias").item<float>(), 0);
  EXPECT_EQ(session.parameter("linear_0.weight").item<float>(), 0);
}

}  // namespace
}  // namespace trireme
