// gradients() against finite differences of compiled Programs, in double precision.

#include "trireme/gradients.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "base/testing/error.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/rnn.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using Numbers = std::vector<double>;

Tensor numbers(std::vector<std::int64_t> shape, unsigned seed = 1) {
  Tensor tensor(f64, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.data<double>()[i] = (seed >> 8) * 0x1p-23 - 1;
  }
  return tensor;
}

Tensor fetch(Session& session, const Feeds& feeds, const Value& value) {
  return session.run(feeds, {value})[0];
}

// Central differences of `loss` by the elements of the feed `name`.
Numbers differences(Session& session, Feeds feeds, const Value& loss, const std::string& name) {
  constexpr double kStep = 1e-5;
  Numbers result;
  const Tensor x = feeds.at(name);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const auto at = [&](double shift) {
      feeds[name] = x.clone();
      feeds[name].data<double>()[i] += shift;
      return fetch(session, feeds, loss).item<double>();
    };
    result.push_back((at(kStep) - at(-kStep)) / (2 * kStep));
  }
  return result;
}

void expect_gradient(Session& session, const Feeds& feeds, const Value& loss, const Value& gradient,
                     const std::string& name) {
  const Tensor found = fetch(session, feeds, gradient);
  const Numbers expected = differences(session, feeds, loss, name);
  ASSERT_EQ(found.shape(), feeds.at(name).shape());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found.data<double>()[i], expected[i], 1e-6 * (1 + std::abs(expected[i])))
        << name << " " << i;
  }
}

TEST(Gradients, OfInputsAndValuesInBetweenAndParameters) {
  Program program;
  const Value x = program.input("x", f64, {batch, 3});
  const Value w = program.parameter("w", f64, {3, 4}, {.initializer = nn::normal(0, 1)});
  const Value other = program.parameter("other", f64, {2}, {.initializer = nn::ones()});
  const Value hidden = tanh(matmul(x, w));
  const Value loss = mean(hidden * hidden * hidden);
  const std::vector<Value> found = gradients(loss, {x, w, hidden, other, loss, x});
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found[0].shape(), x.shape());
  Session session(program);
  const Feeds feeds{{"x", numbers({5, 3})}};
  expect_gradient(session, feeds, loss, found[0], "x");
  // By the chain rule, from the gradient of the hidden values.
  const Tensor dh = fetch(session, feeds, found[2]), h = fetch(session, feeds, hidden);
  for (std::int64_t i = 0; i < 20; ++i) {
    const double value = h.data<double>()[i];
    EXPECT_NEAR(dh.data<double>()[i], 3 * value * value / 20, 1e-14);
  }
  const Tensor dw = fetch(session, feeds, found[1]);
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) {
      double expected = 0;
      for (int i = 0; i < 5; ++i) {
        const double value = h.data<double>()[i * 4 + column];
        expected += feeds.at("x").data<double>()[i * 3 + row] * (1 - value * value) *
                    dh.data<double>()[i * 4 + column];
      }
      EXPECT_NEAR(dw.data<double>()[row * 4 + column], expected, 1e-13);
    }
  }
  EXPECT_EQ(fetch(session, feeds, found[3]).to_vector<double>(), (Numbers{0, 0}));
  EXPECT_EQ(fetch(session, feeds, found[4]).item<double>(), 1);
  EXPECT_TRUE(equal(fetch(session, feeds, found[5]), fetch(session, feeds, found[0])));
  EXPECT_TRUE(gradients(loss, {}).empty());
}

TEST(Gradients, OfGradientsAreSecondDerivatives) {
  Program program;
  const Value x = program.input("x", f64, {4});
  const Value y = program.input("y", f64, {4});
  const Value loss = sum(exp(x * y) + x * x * x * sin(y));
  const Value dx = gradients(loss, {x})[0];
  const Value weighted = sum(dx * y);
  const std::vector<Value> second = gradients(weighted, {x, y});
  const Value third = gradients(sum(second[0]), {x})[0];
  Session session(program);
  const Feeds feeds{{"x", numbers({4})}, {"y", numbers({4}, 7)}};
  expect_gradient(session, feeds, weighted, second[0], "x");
  expect_gradient(session, feeds, weighted, second[1], "y");
  expect_gradient(session, feeds, sum(second[0]), third, "x");
}

// The penalty of Gulrajani et al. 2017 on a critic with convolutions.
TEST(Gradients, OfAPenaltyOnTheGradientOfANetwork) {
  Program program;
  const Value x = program.input("x", f64, {batch, 2, 5, 5});
  const Value w = program.input("w", f64, {3, 2, 3, 3});
  const Value v = program.input("v", f64, {27, 1});
  const Value features = tanh(conv2d(x, w));
  const Value score = matmul(reshape(features, {.shape = {batch, 27}}), v);
  const Value dx = gradients(sum(score), {x})[0];
  const Value norm = sqrt(sum(reshape(dx * dx, {.shape = {batch, 50}}), {.axes = {1}}));
  const Value penalty = mean((norm - 1.0) * (norm - 1.0));
  const std::vector<Value> found = gradients(penalty, {w, v, x});
  Session session(program);
  const Feeds feeds{
      {"x", numbers({2, 2, 5, 5})}, {"w", numbers({3, 2, 3, 3}, 5)}, {"v", numbers({27, 1}, 9)}};
  expect_gradient(session, feeds, penalty, found[0], "w");
  expect_gradient(session, feeds, penalty, found[1], "v");
  expect_gradient(session, feeds, penalty, found[2], "x");
}

TEST(Gradients, WithBatchNormalizationInTraining) {
  Program program;
  const Value x = program.input("x", f64, {batch, 3});
  const Value y = nn::batch_norm(x);
  const Value loss = mean(y * y * y);
  const Value dx = gradients(loss, {x})[0];
  const Value again = gradients(sum(dx * dx), {x})[0];
  Session session(program);
  const Feeds feeds{{"x", numbers({6, 3})}};
  const auto run = [&](const Feeds& given, const Value& value) {
    return session.run(given, {value}, {.training = true})[0];
  };
  const Value square = sum(dx * dx);
  const Tensor found = run(feeds, again);
  for (std::int64_t i = 0; i < 18; ++i) {
    const auto at = [&](double shift) {
      Feeds shifted{{"x", feeds.at("x").clone()}};
      shifted["x"].data<double>()[i] += shift;
      return run(shifted, square).item<double>();
    };
    EXPECT_NEAR(found.data<double>()[i], (at(1e-5) - at(-1e-5)) / 2e-5, 1e-6);
  }
}

TEST(Gradients, ThroughARecurrence) {
  Program program;
  const Value x = program.input("x", f64, ragged({batch}, {2}));
  const Value u = program.input("u", f64, {2, 2});
  const auto [outputs] = nn::rnn([&](nn::Step& step) {
    const Value word = step.input(x);
    const Value h = step.state({.width = 2, .dtype = f64});
    const Value next = tanh(matmul(h, u) + word);
    step.update(h, next);
    step.output(next);
  });
  const Value loss = sum(outputs * outputs);
  const std::vector<Value> found = gradients(loss, {x, u});
  Session session(program);
  const Feeds feeds{{"x", numbers({5, 2})},
                    {"x.splits", Tensor::from<std::int64_t>({3}, {0, 3, 5})},
                    {"u", numbers({2, 2}, 3)}};
  expect_gradient(session, feeds, loss, found[0], "x");
  expect_gradient(session, feeds, loss, found[1], "u");
  // Second derivatives.
  const Value square = sum(found[0] * found[0]) + sum(found[1] * found[1] * found[1]);
  const std::vector<Value> second = gradients(square, {x, u});
  expect_gradient(session, feeds, square, second[0], "x");
  expect_gradient(session, feeds, square, second[1], "u");
}

TEST(Gradients, AfterUpdatesUseTheParametersBeforeThem) {
  Program program;
  const Value x = program.input("x", f64, {});
  const Value w = program.parameter("w", f64, {}, {.initializer = nn::constant(3)});
  minimize(w * w * x, Sgd{.learning_rate = 0.25});
  const Value loss = w * w * w * x;
  const Value dw = gradients(loss, {w})[0];
  Session session(program);
  const Feeds feeds{{"x", Tensor::scalar<double>(2)}};
  const auto results = session.run(feeds, {dw, loss}, {.training = true, .updates = true});
  EXPECT_EQ(results[0].item<double>(), 3 * 9 * 2);
  EXPECT_EQ(results[1].item<double>(), 27 * 2);
  EXPECT_EQ(session.parameter("w").item<double>(), 3 - 0.25 * 2 * 3 * 2);
}

TEST(Gradients, RefuseWhatTheyCannotDifferentiate) {
  Program program, second;
  const Value x = program.input("x", f32, {batch, 1, 4, 4});
  const Value ids = program.input("ids", i64, {batch});
  const Value alien = second.input("alien", f32, {2});
  const Value loss = mean(exp(nn::max_pool(x, {.kernel = 2})));
  const auto text = [&](const std::function<void()>& f) { return error_of(ErrorKind::usage, f); };
  EXPECT_THAT(text([&] { (void)gradients(loss, {ids}); }), HasSubstr("%ids : i64[batch]"));
  EXPECT_THAT(text([&] { (void)gradients(loss, {alien}); }), HasSubstr("another Program"));
  EXPECT_THAT(text([&] { (void)gradients(loss, {Value()}); }), HasSubstr("empty"));
  EXPECT_THAT(text([&] { (void)gradients(Value(), {x}); }), HasSubstr("the loss is empty"));
  EXPECT_THAT(text([&] { (void)gradients(x, {x}); }), HasSubstr("float scalar"));
  const Value dx = gradients(loss, {x})[0];
  const std::string twice = text([&] { (void)gradients(sum(dx * dx), {x}); });
  EXPECT_THAT(twice, HasSubstr("max_pool is differentiated only once"));
  // Nothing is lost after an error.
  EXPECT_EQ(gradients(sum(x * x), {x})[0].shape(), x.shape());

  Value inside;
  const Value rows = program.input("r", f32, ragged({batch}, {2}));
  nn::rnn([&](nn::Step& step) {
    inside = step.input(rows) * 2.0;
    EXPECT_THAT(text([&] { (void)gradients(loss, {inside}); }), HasSubstr("nested block"));
    step.output(inside);
  });
  EXPECT_THAT(text([&] { (void)gradients(sum(x), {inside}); }), HasSubstr("nested block"));
}

}  // namespace
}  // namespace trireme
