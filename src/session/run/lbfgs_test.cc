// L-BFGS on functions with known minima. tests/conformance compares a minimum with PyTorch.

#include "trireme/lbfgs.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/testing/error.h"
#include "trireme/functions.h"
#include "trireme/nn.h"

namespace trireme {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using Numbers = std::vector<double>;

Numbers read(Session& session, const char* name) {
  return session.parameter(name).cast(f64).to_vector<double>();
}

Value element(const Value& x, std::int64_t i) {
  return reshape(slice(x, {.starts = {i}, .limits = {i + 1}}), {.shape = {}});
}

// Rosenbrock 1960: a bent valley with the minimum 0 at (1, 1).
Value valley(const Value& x) {
  const Value a = 1.0 - element(x, 0), b = element(x, 1) - element(x, 0) * element(x, 0);
  return a * a + b * b * 100.0;
}

TEST(LBfgs, FindsTheEndOfABentValley) {
  for (const DType dtype : {f64, f32}) {
    Program program;
    const Value x = program.parameter("x", dtype, {2});
    Session session(program, {.threads = 1});
    session.set_parameter("x", Tensor::from<double>({2}, {-1.2, 1}).cast(dtype));
    Lbfgs lbfgs(session, valley(x));
    const LbfgsResult result = lbfgs.minimize({});
    const double near = dtype == f64 ? 1e-6 : 1e-2;
    EXPECT_THAT(read(session, "x"), ElementsAre(DoubleNear(1, near), DoubleNear(1, near)));
    EXPECT_LT(result.loss, near * near);
    EXPECT_LT(result.iterations, 60);
    EXPECT_LE(result.iterations, result.evaluations);
    EXPECT_LT(result.evaluations, 150);
    if (dtype != f64) continue;
    EXPECT_TRUE(result.converged);
    EXPECT_LT(result.gradient, 1e-5);
    EXPECT_LE(lbfgs.minimize({}).iterations, 1);  // at the minimum there is nothing to do
  }
}

// A quadratic function of n numbers takes about n steps, whatever its scale.
TEST(LBfgs, SolvesLeastSquaresOfFeeds) {
  Program program;
  const Value a = program.input("a", f64, {batch, 3}), b = program.input("b", f64, {batch, 1});
  const Value w = program.parameter("w", f64, {3, 1}), bias = program.parameter("bias", f64, {1});
  const Value difference = matmul(a, w) + bias - b;
  Session session(program, {.threads = 1});
  Lbfgs lbfgs(session, mean(difference * difference),
              {.gradient_tolerance = 1e-9, .change_tolerance = 0});
  Numbers rows, targets;
  for (int i = 0; i < 12; ++i) {
    const double p = std::sin(i * 1.3), q = std::cos(i * 0.7) * 10, r = i * 0.1;
    rows.insert(rows.end(), {p, q, r});
    targets.push_back(2 * p - q + 3 * r + 0.5);
  }
  const Feeds feeds{{"a", Tensor::from({12, 3}, rows)}, {"b", Tensor::from({12, 1}, targets)}};
  EXPECT_TRUE(lbfgs.minimize(feeds).converged);
  EXPECT_THAT(read(session, "w"),
              ElementsAre(DoubleNear(2, 1e-7), DoubleNear(-1, 1e-7), DoubleNear(3, 1e-7)));
  EXPECT_THAT(read(session, "bias"), ElementsAre(DoubleNear(0.5, 1e-7)));
}

TEST(LBfgs, ChangesChosenParametersOnly) {
  Program program;
  const Value a = program.parameter("a", f64, {}, {.initializer = nn::constant(3)});
  const Value b = program.parameter("b", f64, {}, {.initializer = nn::constant(3)});
  Session session(program, {.threads = 1});
  const Value loss = a * a + b * b;
  Lbfgs(session, loss, {.parameters = {"a"}}).minimize({});
  EXPECT_NEAR(read(session, "a")[0], 0, 1e-6);
  EXPECT_EQ(read(session, "b")[0], 3);
  Lbfgs both(session, loss);
  session.freeze("b");
  both.minimize({});
  EXPECT_EQ(read(session, "b")[0], 3);
  session.unfreeze("b");
  EXPECT_EQ(both.minimize({}).iterations > 0, true);
  EXPECT_NEAR(read(session, "b")[0], 0, 1e-6);
}

TEST(LBfgs, StaysWhereTheLossIsFinite) {
  Program program;
  const Value x = program.parameter("x", f64, {}, {.initializer = nn::constant(4)});
  Session session(program, {.threads = 1});
  // NaN below 0; the minimum is at 1.
  Lbfgs lbfgs(session, x - log(x), {.learning_rate = 100});
  EXPECT_TRUE(lbfgs.minimize({}).converged);
  EXPECT_NEAR(read(session, "x")[0], 1, 1e-6);
  // Without a minimum the limits end it.
  Lbfgs endless(session, -x, {.max_iterations = 3});
  EXPECT_LE(endless.minimize({}).iterations, 3);
  EXPECT_GT(read(session, "x")[0], 1e6);
  session.set_parameter("x", Tensor::from<double>({}, {4}));
  Lbfgs few(session, x - log(x), {.max_evaluations = 2});
  EXPECT_LE(few.minimize({}).evaluations, 2);
}

TEST(LBfgs, OfOneNumberAndOfNone) {
  Program program;
  const Value x = program.parameter("x", f64, {1}), none = program.parameter("none", f64, {0});
  Session session(program, {.threads = 1});
  session.set_parameter("x", Tensor::from<double>({1}, {8}));
  Lbfgs one(session, sum((x - 3.0) * (x - 3.0)), {.parameters = {"x"}});
  EXPECT_TRUE(one.minimize({}).converged);
  EXPECT_NEAR(read(session, "x")[0], 3, 1e-7);
  // Both have a gradient of zeros, or of no numbers, from the start.
  session.set_parameter("x", Tensor::from<double>({1}, {0}));
  for (const Value& loss : {sum(x * x), sum(none) + 5.0}) {
    Lbfgs lbfgs(session, loss);
    const LbfgsResult result = lbfgs.minimize({});
    EXPECT_TRUE(result.converged);
    EXPECT_EQ(result.iterations, 0);
    EXPECT_EQ(result.evaluations, 1);
    EXPECT_EQ(result.gradient, 0);
  }
}

TEST(LBfgs, RefusesWhatIsNotFiniteAtFirst) {
  Program program;
  const Value x = program.parameter("x", f64, {2});
  Session session(program, {.threads = 1});
  const auto expect_refusal = [&](const Numbers& first, const Value& loss) {
    session.set_parameter("x", Tensor::from<double>({2}, first));
    Lbfgs lbfgs(session, loss);
    EXPECT_THAT(error_of(ErrorKind::numeric, [&] { lbfgs.minimize({}); }), HasSubstr("finite"));
    EXPECT_THAT(read(session, "x"), ElementsAre(first[0], first[1]));
  };
  expect_refusal({0, 1}, sum(log(x)));   // an infinite loss
  expect_refusal({0, 1}, sum(sqrt(x)));  // an infinite gradient
  // A gradient [NaN, 2]: atan2 has none at the origin.
  const Value a = element(x, 0), b = element(x, 1);
  expect_refusal({0, 1}, atan2(a, a) + b * b);
}

TEST(LBfgs, Refuses) {
  Program program;
  const Value x = program.parameter("x", f64, {2});
  Session session(program, {.threads = 1});
  const Value loss = sum(x * x);
  const auto refusal = [&](const LbfgsOptions& options) {
    return error_of(ErrorKind::usage, [&] { Lbfgs(session, loss, options); });
  };
  EXPECT_THAT(refusal({.max_iterations = 0}), HasSubstr("max_iterations"));
  EXPECT_THAT(refusal({.history = 0}), HasSubstr("history"));
  EXPECT_THAT(refusal({.learning_rate = 0}), HasSubstr("learning rate"));
  EXPECT_THAT(refusal({.gradient_tolerance = -1}), HasSubstr("tolerances"));
  EXPECT_THAT(refusal({.parameters = {"y*"}}), HasSubstr("no trainable parameter"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { Lbfgs(session, x); }), HasSubstr("scalar"));
  Lbfgs lbfgs(session, loss);
  session.set_parameter("x", Tensor::from<double>({2}, {1, std::nan("")}));
  EXPECT_THAT(error_of(ErrorKind::numeric, [&] { lbfgs.minimize({}); }), HasSubstr("finite"));
  EXPECT_EQ(read(session, "x")[0], 1);
}

}  // namespace
}  // namespace trireme
