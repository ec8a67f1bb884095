// gradients(): of inputs, parameters and results, of second order, and beside updates. The oracles
// are formulas and finite differences.

#include "trireme/gradients.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "trireme/nn.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

std::vector<double> run(const Program& program, const Value& value, const std::vector<double>& x) {
  Session session(program, {.threads = 1});
  const auto n = static_cast<std::int64_t>(x.size());
  return session.run({{"x", Tensor::from<double>({n}, x)}}, {value})[0].to_vector<double>();
}

TEST(Gradients, OfAnInputAreThoseOfFiniteDifferences) {
  Program program;
  const Value x = program.input("x", f64, {batch});
  const Value loss = sum(tanh(x * 2.0) * x + exp(x * 0.5));
  const Value gradient = gradients(loss, {x})[0];
  EXPECT_EQ(gradient.shape(), x.shape());
  const std::vector<double> at = {-1.5, -0.2, 0, 0.7, 2};
  const std::vector<double> found = run(program, gradient, at);
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::vector<double> up = at, down = at;
    up[i] += 1e-6, down[i] -= 1e-6;
    const double expected = (run(program, loss, up)[0] - run(program, loss, down)[0]) / 2e-6;
    EXPECT_NEAR(found[i], expected, 1e-7) << "x = " << at[i];
  }
}

TEST(Gradients, OfGradientsAreOfSecondOrder) {
  Program program;
  const Value x = program.input("x", f64, {batch});
  const Value first = gradients(sum(x * x * x), {x})[0];                      // 3 x^2
  const Value penalty = gradients(sum(first * first), {x})[0];                // 36 x^3
  const Value third = gradients(sum(gradients(sum(first), {x})[0]), {x})[0];  // 6
  EXPECT_THAT(run(program, first, {2, -1, 0}), ElementsAre(12, 3, 0));
  EXPECT_THAT(run(program, penalty, {2, -1, 0}), ElementsAre(288, -36, 0));
  EXPECT_THAT(run(program, third, {2, -1, 0}), ElementsAre(6, 6, 6));
}

TEST(Gradients, OfResultsInBetweenAndOfWhatDoesNotMatter) {
  Program program;
  const Value x = program.input("x", f64, {batch});
  const Value other = program.input("other", f64, {3});
  const Value middle = x * 3.0;
  const std::vector<Value> found = gradients(sum(middle * middle), {middle, other, x});
  EXPECT_THAT(run(program, found[0], {1, 2}), ElementsAre(6, 12));
  EXPECT_THAT(run(program, found[1], {1, 2}), ElementsAre(0, 0, 0));
  EXPECT_THAT(run(program, found[2], {1, 2}), ElementsAre(18, 36));
  EXPECT_TRUE(gradients(sum(x), {}).empty());
  EXPECT_THAT(run(program, gradients(sum(x), {sum(x)})[0], {1, 2}), ElementsAre(0));
}

TEST(Gradients, AtKinksAndEnds) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Program program;
  const Value x = program.input("x", f64, {batch});
  EXPECT_THAT(run(program, gradients(sum(nn::relu(x)), {x})[0], {-1, 0, -0.0, 2}),
              ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(run(program, gradients(sum(tanh(x)), {x})[0], {kInfinity, -kInfinity, 0}),
              ElementsAre(0, 0, 1));
  EXPECT_TRUE(run(program, gradients(sum(x * x), {x})[0], {}).empty());
  EXPECT_TRUE(std::isnan(run(program, gradients(sum(x * x), {x})[0], {std::nan("")})[0]));
}

TEST(Gradients, BesideUpdatesUseTheParametersOfTheLoss) {
  Program program;
  const Value x = program.input("x", f64, {batch, 2});
  const Value w = program.parameter("w", f64, {2}, {.initializer = nn::ones()});
  const Value loss = sum(exp(x * w));
  minimize(loss, Sgd{.learning_rate = 0.5});
  const Value gradient = gradients(loss, {w})[0];
  Session session(program, {.threads = 1});
  const Feeds feeds = {{"x", Tensor::from<double>({1, 2}, {0, 1})}};
  const std::vector<Tensor> results =
      session.run(feeds, {gradient}, {.training = true, .updates = true});
  EXPECT_THAT(results[0].to_vector<double>(), ElementsAre(0, std::exp(1.0)));
  EXPECT_THAT(session.parameter("w").to_vector<double>(), ElementsAre(1, 1 - 0.5 * std::exp(1.0)));
}

TEST(Gradients, OfANetworkWithRespectToItsPicture) {
  Program program;
  const Value image = program.input("image", f64, {batch, 1, 4, 4});
  const Value y = nn::linear(
      nn::flatten(nn::conv2d(image, {.channels = 2, .padding = 1, .activation = nn::tanh})),
      {.units = 1});
  const Value saliency = gradients(sum(y), {image})[0];
  // A gradient penalty changes the weights, so it is differentiated by them.
  const Value weight = program.find("conv2d_0.weight");
  const Value penalty = gradients(sum(saliency * saliency), {weight})[0];
  Session session(program, {.threads = 1});
  Tensor picture(f64, {2, 1, 4, 4});
  for (int i = 0; i < 32; ++i) picture.data<double>()[i] = std::sin(i);
  const Value norm = sum(saliency * saliency);
  const auto measure = [&] { return session.run({{"image", picture}}, {norm})[0].item<double>(); };
  const Tensor found = session.run({{"image", picture}}, {penalty})[0];
  Tensor values = session.parameter("conv2d_0.weight");
  for (int i = 0; i < 18; i += 5) {
    const double before = values.data<double>()[i];
    values.data<double>()[i] = before + 1e-6;
    session.set_parameter("conv2d_0.weight", values);
    const double up = measure();
    values.data<double>()[i] = before - 1e-6;
    session.set_parameter("conv2d_0.weight", values);
    const double down = measure();
    values.data<double>()[i] = before;
    session.set_parameter("conv2d_0.weight", values);
    EXPECT_NEAR(found.data<double>()[i], (up - down) / 2e-6, 1e-6);
  }
}

TEST(Gradients, RefuseWhatHasNone) {
  Program program, other;
  const Value x = program.input("x", f64, {batch});
  const Value ids = program.input("ids", i64, {batch});
  const Value foreign = other.input("x", f64, {batch});
  EXPECT_THAT(refusal_of([&] { gradients(sum(x), {ids}); }), HasSubstr("not floating-point"));
  EXPECT_THAT(refusal_of([&] { gradients(sum(x), {foreign}); }), HasSubstr("not of the Program"));
  EXPECT_THAT(refusal_of([&] { gradients(sum(x), {Value()}); }), HasSubstr("empty"));
  EXPECT_THAT(refusal_of([&] { gradients(Value(), {x}); }), HasSubstr("empty"));
  EXPECT_THAT(refusal_of([&] { gradients(x, {x}); }), HasSubstr("scalar"));
  EXPECT_THAT(refusal_of([&] { gradients(sum(x), {ids}); }), HasSubstr("gradients_test.cc:"));
}

TEST(Programs, AreFoundByTheirValues) {
  Program program("mine");
  const Value x = program.input("x", f64, {batch});
  EXPECT_EQ(Program::of(x).name(), "mine");
  EXPECT_EQ(Program::of(x).find("x"), x);
  EXPECT_THROW(Program::of(Value()), Error);
}

}  // namespace
}  // namespace trireme
