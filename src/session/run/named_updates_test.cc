// Several updates in one Program, changing rates, frozen parameters and shared ones.

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "trireme/gradients.h"
#include "trireme/nn.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_thrown_by(const std::function<void()>& action,
                            ErrorKind kind = ErrorKind::usage) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

// A generator of numbers and a discriminator, with the losses of Goodfellow et al. 2014.
struct Gan {
  Program program{"gan"};
  Value noise, real, loss_d, loss_g;
  std::vector<Value> gradients_d, gradients_g;

  explicit Gan(const Optimizer& d = Sgd{.learning_rate = 0.1},
               const Optimizer& g = Adam{.learning_rate = 0.01}) {
    noise = program.input("noise", f32, {batch, 3});
    real = program.input("real", f32, {batch, 2});
    Value fake;
    {
      const auto scope = program.scope("generator");
      fake = nn::linear(nn::linear(noise, {.units = 8, .activation = nn::tanh}), {.units = 2});
    }
    const Value on_real = discriminate(real), on_fake = discriminate(fake);
    loss_d = mean(nn::softplus(-on_real)) + mean(nn::softplus(on_fake));
    loss_g = mean(nn::softplus(-on_fake));
    minimize(loss_d, d, {.name = "d", .parameters = {"discriminator/*"}});
    minimize(loss_g, g, {.name = "g", .parameters = {"generator/*"}});
    gradients_d = gradients(loss_d, {program.find("discriminator/linear_0.weight")});
  }

  Value discriminate(const Value& x) {
    const auto scope = program.shared_scope("discriminator");
    const Value hidden = nn::batch_norm(nn::linear(x, {.units = 8, .activation = nn::tanh}));
    return nn::linear(hidden, {.units = 1});
  }
};

Tensor numbers(std::vector<std::int64_t> shape, double from) {
  Tensor tensor(f32, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(std::sin(from + static_cast<double>(i)));
  }
  return tensor;
}

std::map<std::string, Tensor> parameters_of(const Program& program, Session& session) {
  std::map<std::string, Tensor> all;
  for (const Value& parameter : program.parameters()) {
    const std::string name = parameter.name().substr(1);
    all.emplace(name, session.parameter(name));
  }
  return all;
}

const RunOptions kTrainD{.training = true, .updates = true, .update = {"d"}};
const RunOptions kTrainG{.training = true, .updates = true, .update = {"g"}};

TEST(NamedUpdates, ChangeTheirOwnParametersAlone) {
  Gan gan;
  Session session(gan.program, {.threads = 2});
  const Feeds feeds = {{"noise", numbers({4, 3}, 1)}, {"real", numbers({4, 2}, 9)}};
  auto before = parameters_of(gan.program, session);
  session.run(feeds, {gan.loss_d}, kTrainD);
  auto after = parameters_of(gan.program, session);
  EXPECT_FALSE(
      equal(after["discriminator/linear_0.weight"], before["discriminator/linear_0.weight"]));
  for (const char* name : {"generator/linear_0.weight", "generator/linear_1.bias",
                           "generator/linear_0.weight.g.adam_m", "optimizer.g.step"}) {
    EXPECT_TRUE(equal(after[name], before[name])) << name;
  }
  before = after;
  session.run({{"noise", feeds.at("noise")}}, {gan.loss_g}, kTrainG);  // needs no real numbers
  after = parameters_of(gan.program, session);
  EXPECT_TRUE(
      equal(after["discriminator/linear_0.weight"], before["discriminator/linear_0.weight"]));
  EXPECT_FALSE(equal(after["generator/linear_0.weight"], before["generator/linear_0.weight"]));
  EXPECT_EQ(after["optimizer.g.step"].item<std::int64_t>(), 1);
}

TEST(NamedUpdates, OfOneRunAllUseTheParametersFromBefore) {
  Gan gan(Sgd{.learning_rate = 0.1}, Sgd{.learning_rate = 0.2});
  const Feeds feeds = {{"noise", numbers({4, 3}, 1)}, {"real", numbers({4, 2}, 9)}};
  const char* const names[] = {"discriminator/linear_0.weight", "generator/linear_0.weight"};
  Session together(gan.program, {.threads = 1}), first(gan.program, {.threads = 1}),
      second(gan.program, {.threads = 1});
  together.run(feeds, {}, {.training = true, .updates = true});
  first.run(feeds, {}, kTrainD);
  second.run(feeds, {}, kTrainG);
  EXPECT_TRUE(equal(together.parameter(names[0]), first.parameter(names[0])));
  EXPECT_TRUE(equal(together.parameter(names[1]), second.parameter(names[1])));
}

TEST(NamedUpdates, AreTheStepsOfTheOptimizer) {
  Gan gan;
  Session session(gan.program, {.threads = 1});
  const Feeds feeds = {{"noise", numbers({4, 3}, 1)}, {"real", numbers({4, 2}, 9)}};
  const Tensor before = session.parameter("discriminator/linear_0.weight");
  const Tensor gradient = session.run(feeds, {gan.gradients_d[0]}, kTrainD)[0];
  const Tensor after = session.parameter("discriminator/linear_0.weight");
  for (std::int64_t i = 0; i < before.elements(); ++i) {
    EXPECT_NEAR(after.data<float>()[i], before.data<float>()[i] - 0.1F * gradient.data<float>()[i],
                1e-7);
  }
}

TEST(NamedUpdates, KeepTheirNamesInTheText) {
  const Gan gan;
  Program parsed = Program::parse(gan.program.str());
  EXPECT_EQ(parsed.str(), gan.program.str());
  Session session(parsed, {.threads = 1});
  session.run({{"noise", numbers({4, 3}, 1)}}, {}, kTrainG);
  EXPECT_EQ(session.parameter("optimizer.g.step").item<std::int64_t>(), 1);
  EXPECT_THAT(
      error_thrown_by([&] { minimize(parsed.parameters()[0] * 0.0 + 1.0, Sgd{}, {.name = "d"}); }),
      HasSubstr("already, made in its text"));
}

TEST(NamedUpdates, RefuseWrongNames) {
  Gan gan;
  EXPECT_THAT(error_thrown_by([&] { minimize(gan.loss_d, Sgd{}, {.name = "d"}); }),
              HasSubstr("updates \"d\" already, made at named_updates_test.cc"));
  EXPECT_THAT(error_thrown_by([&] { minimize(gan.loss_d, Sgd{}, {.name = "a b"}); }),
              HasSubstr("no name for updates"));
  EXPECT_THAT(
      error_thrown_by([&] { minimize(gan.loss_d, Sgd{}, {.name = "e", .parameters = {"x*"}}); },
                      ErrorKind::not_found),
      HasSubstr("matches \"x*\""));
  Session session(gan.program, {.threads = 1});
  EXPECT_THAT(error_thrown_by([&] { session.run({}, {}, {.updates = true, .update = {"e"}}); }),
              HasSubstr("it has \"d\", \"g\""));
  EXPECT_THAT(error_thrown_by([&] { session.run({}, {}, {.update = {"d"}}); }),
              HasSubstr("needs updates = true"));
  EXPECT_THAT(error_thrown_by([&] {
                minimize(gan.loss_d, Sgd{.learning_rate = Schedule(0.1).on_plateau({})},
                         {.name = "p", .parameters = {"discriminator/*"}});
              }),
              HasSubstr("on_plateau"));
}

struct Line {
  Program program{"line"};
  Value x, w, v, loss;
  explicit Line(const Optimizer& optimizer) {
    x = program.input("x", f32, {batch});
    w = program.parameter("w", f32, {1}, {.initializer = nn::ones()});
    v = program.parameter("v", f32, {1}, {.initializer = nn::ones()});
    loss = mean(x * w + x * v);
    minimize(loss, optimizer);
  }
};

const RunOptions kTrain{.training = true, .updates = true};
const Feeds kTwos = {{"x", Tensor::from<float>({2}, {2, 2})}};

TEST(LearningRates, ChangeWithoutCompiling) {
  Line line(Sgd{.learning_rate = Schedule::adjustable(0.5)});
  Session session(line.program, {.threads = 1});
  EXPECT_EQ(session.learning_rate(), 0.5);
  session.run(kTwos, {}, kTrain);
  EXPECT_EQ(session.parameter("w").item<float>(), 1 - 0.5F * 2);
  session.set_learning_rate(0.25);
  session.run(kTwos, {}, kTrain);
  EXPECT_EQ(session.parameter("w").item<float>(), 0 - 0.25F * 2);
  session.set_learning_rate(0);
  session.run(kTwos, {}, kTrain);
  EXPECT_EQ(session.parameter("w").item<float>(), -0.5F);
  EXPECT_EQ(session.statistics().plans, 1);
  EXPECT_EQ(session.learning_rate(), 0);
}

TEST(LearningRates, AdjustableTrainsAsAConstant) {
  for (const bool decays : {false, true}) {
    const auto train = [&](const Schedule& rate) {
      Line line(AdamW{.learning_rate = rate, .weight_decay = decays ? 0.1 : 0});
      Session session(line.program, {.threads = 1});
      for (int i = 0; i < 5; ++i) session.run(kTwos, {}, kTrain);
      return session.parameter("w");
    };
    EXPECT_FLOAT_EQ(train(0.03).item<float>(), train(Schedule::adjustable(0.03)).item<float>());
  }
}

TEST(LearningRates, AfterAWarmUp) {
  Line line(Sgd{.learning_rate = Schedule::adjustable(1).warmup(2)});
  Session session(line.program, {.threads = 1});
  std::vector<float> steps;
  float before = 1;
  for (int i = 0; i < 3; ++i) {
    session.run(kTwos, {}, kTrain);
    const float after = session.parameter("w").item<float>();
    steps.push_back(before - after);
    before = after;
  }
  EXPECT_THAT(steps, ElementsAre(1, 2, 2));
}

TEST(LearningRates, RefuseWhatCannotChange) {
  Line line(Sgd{.learning_rate = 0.5});
  Session session(line.program, {.threads = 1});
  EXPECT_THAT(error_thrown_by([&] { session.set_learning_rate(0.1); }),
              HasSubstr("adjustable(1e-3)"));
  EXPECT_THAT(error_thrown_by([&] { session.learning_rate("d"); }), HasSubstr("\"d\""));
  Line other(Sgd{.learning_rate = Schedule::adjustable(0.5)});
  Session adjustable(other.program, {.threads = 1});
  for (const double rate : {-1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(error_thrown_by([&] { adjustable.set_learning_rate(rate); }), HasSubstr("finite"));
  }
}

TEST(Freezing, KeepsParametersAndTheirState) {
  Line line(Adam{.learning_rate = 0.1});
  Session session(line.program, {.threads = 1});
  session.run(kTwos, {}, kTrain);
  const auto before = parameters_of(line.program, session);
  session.freeze("w*");
  session.run(kTwos, {}, kTrain);
  session.run(kTwos, {}, kTrain);
  auto after = parameters_of(line.program, session);
  for (const char* name : {"w", "w.adam_m", "w.adam_v"}) {
    EXPECT_TRUE(equal(after.at(name), before.at(name))) << name;
  }
  EXPECT_FALSE(equal(after.at("v"), before.at("v")));
  EXPECT_EQ(after.at("optimizer.step").item<std::int64_t>(), 3);
  EXPECT_EQ(session.statistics().plans, 2);
  session.unfreeze("*");
  session.run(kTwos, {}, kTrain);
  after = parameters_of(line.program, session);
  EXPECT_FALSE(equal(after.at("w"), before.at("w")));
  EXPECT_EQ(session.statistics().plans, 2);
  session.freeze("*");
  session.run(kTwos, {}, kTrain);
  EXPECT_TRUE(equal(session.parameter("v"), after.at("v")));
  EXPECT_THAT(error_thrown_by([&] { session.freeze("u"); }, ErrorKind::not_found),
              HasSubstr("\"u\""));
}

TEST(SharedParameters, AreTheSameMemory) {
  Line trained(Sgd{.learning_rate = 0.5});
  Program reading("reading");
  const Value w = reading.parameter("w", f32, {1}, {.initializer = nn::zeros()});
  reading.parameter("v", f32, {3}, {.initializer = nn::zeros()});  // another type
  const Value twice = w * 2.0;
  auto session = std::make_unique<Session>(trained.program, SessionOptions{.threads = 1});
  Session other(reading, {.threads = 1}, *session);
  EXPECT_EQ(other.run({}, {twice})[0].item<float>(), 2);
  session->run(kTwos, {}, kTrain);
  EXPECT_EQ(other.run({}, {twice})[0].item<float>(), 0);
  other.set_parameter("w", Tensor::from<float>({1}, {5}));
  EXPECT_EQ(session->parameter("w").item<float>(), 5);
  EXPECT_THAT(other.parameter("v").to_vector<float>(), ElementsAre(0, 0, 0));
  session.reset();
  EXPECT_EQ(other.run({}, {twice})[0].item<float>(), 10);
}

}  // namespace
}  // namespace trireme
