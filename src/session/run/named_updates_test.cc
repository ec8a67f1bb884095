// Several sets of updates in one Program, gradients of updates, learning rates and freezing.

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "base/testing/error.h"
#include "ir/program.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme {
namespace {

using testing::HasSubstr;

Value scalar(Program& program, const char* name, double value) {
  return program.parameter(name, f64, {}, {.initializer = nn::constant(value)});
}

// d_loss = (d * g - x)^2, of which d follows Momentum; g_loss = (d * g)^2, of which g follows SGD.
struct Duel {
  Program program{"duel"};
  Value x = program.input("x", f64, {}), d = scalar(program, "d/w", 0.5),
        g = scalar(program, "g/w", -2);
  Value d_loss, g_loss;
  Duel() {
    const Value product = d * g;
    d_loss = (product - x) * (product - x);
    minimize(d_loss, Momentum{.learning_rate = 0.1, .momentum = 0.5},
             {.name = "d", .parameters = {"d/*"}});
    g_loss = product * product;
    minimize(g_loss, Sgd{.learning_rate = 0.01}, {.name = "g", .parameters = {"g/*"}});
  }
};

const Feeds kFeeds{{"x", Tensor::scalar<double>(3)}};

double parameter(Session& session, std::string_view name) {
  return session.parameter(name).item<double>();
}

TEST(NamedUpdates, HaveTheirOwnParametersOptimizersAndState) {
  Duel duel;
  Session session(duel.program);
  double d = 0.5, g = -2, velocity = 0;
  const auto expect_all = [&] {
    EXPECT_NEAR(parameter(session, "d/w"), d, 1e-14);
    EXPECT_NEAR(parameter(session, "g/w"), g, 1e-14);
    EXPECT_NEAR(parameter(session, "optimizer.d/d/w.momentum"), velocity, 1e-14);
  };
  const auto gradient_of_d = [&] { return 2 * (d * g - 3) * g; };
  for (int i = 0; i < 3; ++i) {
    session.run(kFeeds, {}, {.training = true, .update = {"d"}});
    velocity = 0.5 * velocity + gradient_of_d();
    d -= 0.1 * velocity;
    expect_all();
  }
  session.run(kFeeds, {}, {.training = true, .update = {"g"}});
  g -= 0.01 * 2 * d * g * d;
  expect_all();
  // Without names all sets run, and all gradients use the parameters before the run.
  for (const RunOptions& both : {RunOptions{.training = true, .updates = true},
                                 RunOptions{.training = true, .update = {"g", "d"}}}) {
    session.run(kFeeds, {}, both);
    velocity = 0.5 * velocity + gradient_of_d();
    g -= 0.01 * 2 * d * g * d;
    d -= 0.1 * velocity;
    expect_all();
  }
}

TEST(NamedUpdates, WorkAfterParsing) {
  Duel duel;
  Program parsed = Program::parse(duel.program.str());
  Session first(duel.program), second(parsed);
  for (const char* name : {"d", "g", "d"}) {
    first.run(kFeeds, {}, {.update = {name}});
    second.run(kFeeds, {}, {.update = {name}});
  }
  for (const Value& value : duel.program.parameters()) {
    const std::string name = value.name().substr(1);
    EXPECT_TRUE(equal(first.parameter(name), second.parameter(name))) << name;
  }
  EXPECT_NE(parameter(first, "d/w"), 0.5);
}

TEST(NamedUpdates, NamesOfStateDoNotClash) {
  Program program;
  const Value w = program.parameter("w", f32, {2, 2}), v = program.parameter("v", f32, {2});
  const Value loss = sum(w * w) + sum(v * v);
  minimize(loss, Adam{});
  minimize(
      loss, Adam{},
      {.name = "warm-up", .parameters = {"w"}, .accumulate = 2, .average = Average::exponential()});
  std::vector<std::string> names;
  for (const auto& parameter : program.ir().parameters()) names.push_back(parameter->name());
  EXPECT_THAT(names, testing::UnorderedElementsAre(
                         "w", "v", "optimizer.step", "w.adam_m", "w.adam_v", "v.adam_m", "v.adam_v",
                         "optimizer.warm-up/step", "optimizer.warm-up/batch",
                         "optimizer.warm-up/w.adam_m", "optimizer.warm-up/w.adam_v",
                         "optimizer.warm-up/w.gradient", "optimizer.warm-up/w.average"));
  Session session(program);
  session.run({}, {}, {.update = {""}});
  EXPECT_EQ(session.parameter("optimizer.step").item<std::int64_t>(), 1);
  EXPECT_EQ(session.parameter("optimizer.warm-up/batch").item<std::int64_t>(), 0);
}

// A generator with batch_norm and a discriminator with batch_norm, which also sees real examples.
struct Gan {
  Program program{"gan"};
  Value fake, g_loss;
  Gan() {
    const Value noise = program.input("noise", f32, {batch, 2});
    const Value real = program.input("real", f32, {Dim("reals"), 3});
    {
      const auto generator = program.scope("generator");
      fake = nn::linear(nn::batch_norm(nn::linear(noise, {.units = 4})), {.units = 3});
    }
    const auto score = [&](const Value& x) {
      const auto scope = program.shared_scope("discriminator");
      return nn::linear(nn::batch_norm(nn::linear(x, {.units = 4})), {.units = 1});
    };
    const Value of_real = score(real), of_fake = score(fake);
    minimize(mean(of_real * of_real) - mean(of_fake), Adam{},
             {.name = "discriminator", .parameters = {"discriminator/*"}});
    g_loss = mean(of_fake * of_fake);
    minimize(g_loss, Adam{},
             {.name = "generator", .parameters = {"generator/linear*", "generator/batch*"}});
  }
};

TEST(NamedUpdates, ComputeOnlyWhatTheyNeed) {
  Gan gan;
  Session session(gan.program, {.threads = 1});
  const Tensor points = Tensor::from<float>({4, 2}, {1, 2, -1, 0.5, 3, -2, 0, 1});
  const Tensor images = Tensor::from<float>({2, 3}, {1, -1, 2, 0.5, 3, -4});
  const Feeds noise{{"noise", points}}, all{{"noise", points}, {"real", images}};
  std::map<std::string, Tensor> before;
  const auto changed = [&] {
    std::string text;
    for (const auto& parameter : gan.program.ir().parameters()) {
      const Tensor now = session.parameter(parameter->name());
      if (before.contains(parameter->name()) && !equal(before[parameter->name()], now)) {
        text += parameter->name() + " ";
      }
      before[parameter->name()] = now;
    }
    return text;
  };
  changed();
  // The real examples are not needed, and their running means stay out of it.
  session.run(noise, {gan.g_loss}, {.training = true, .update = {"generator"}});
  const std::string by_generator = changed();
  EXPECT_THAT(by_generator, HasSubstr("generator/linear_1.weight "));
  EXPECT_THAT(by_generator, HasSubstr("optimizer.generator/step "));
  EXPECT_THAT(by_generator, HasSubstr("generator/batch_norm_0.running_var "));
  EXPECT_THAT(by_generator, HasSubstr("discriminator/batch_norm_0.running_var "));
  EXPECT_THAT(by_generator, testing::Not(HasSubstr("discriminator/linear")));
  EXPECT_THROW(session.run(noise, {}, {.training = true, .update = {"discriminator"}}), Error);
  session.run(all, {}, {.training = true, .update = {"discriminator"}});
  const std::string by_discriminator = changed();
  EXPECT_THAT(by_discriminator, HasSubstr("discriminator/linear_0.weight "));
  EXPECT_THAT(by_discriminator, testing::Not(HasSubstr(" generator/linear")));
  const auto kernels = [&](const RunOptions& mode) {
    return session.memory({}, mode, {{"batch", 4}, {"reals", 5}}).kernels;
  };
  EXPECT_LT(kernels({.training = true, .update = {"generator"}}),
            kernels({.training = true, .updates = true}));
  EXPECT_LT(kernels({.training = true, .update = {"discriminator"}}),
            kernels({.training = true, .updates = true}));
  EXPECT_EQ(kernels({.training = true, .update = {"discriminator", "generator"}}),
            kernels({.training = true, .updates = true}));
}

TEST(NamedUpdates, ErrorsNameWhatExists) {
  Duel duel;
  Session session(duel.program);
  const auto text = [&](const std::function<void()>& f) { return error_of(ErrorKind::usage, f); };
  EXPECT_THAT(text([&] { session.run(kFeeds, {}, {.update = {"D"}}); }),
              HasSubstr("no updates \"D\"; its updates are \"d\", \"g\""));
  EXPECT_THAT(text([&] { minimize(duel.d_loss, Sgd{}, {.name = "d"}); }),
              HasSubstr("updates \"d\" already, made at named_updates_test.cc:"));
  EXPECT_THAT(
      text([&] { minimize(duel.d_loss, Sgd{}, {.name = "e", .parameters = {"d/*", "d/v"}}); }),
      HasSubstr("no trainable parameter \"d/v\"; did you mean \"d/w\"?"));
  EXPECT_THAT(text([&] { minimize(duel.d_loss, Sgd{}, {.name = "a/b"}); }), HasSubstr("a/b"));
  EXPECT_THAT(text([&] { session.learning_rate(); }), HasSubstr("\"d\", \"g\""));
  Program none;
  Session empty(none);
  EXPECT_THAT(text([&] { empty.run({}, {}, {.update = {"d"}}); }), HasSubstr("minimize() adds"));
}

// With a function that doubles gradients, before the optimizer sees them.
TEST(NamedUpdates, GetExchangedGradients) {
  Program program;
  const Value w = scalar(program, "w", 3);
  minimize(w * w, Sgd{.learning_rate = 0.5}, {.name = "doubled"},
           [](std::vector<ParameterGradient>& all) {
             for (ParameterGradient& each : all) each.gradient.values = each.gradient.values * 2.0;
           });
  const Value gradient = gradients_of_updates(program, "doubled")[0].gradient.values;
  Session session(program);
  EXPECT_EQ(session.run({}, {gradient}, {.update = {"doubled"}})[0].item<double>(), 12);
  EXPECT_EQ(parameter(session, "w"), 3 - 0.5 * 12);
}

TEST(NamedUpdates, GiveTheirGradients) {
  Duel duel;
  const std::vector<ParameterGradient> found = gradients_of_updates(duel.program, "d");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].parameter, duel.d);
  Session session(duel.program);
  const Tensor gradient =
      session.run(kFeeds, {found[0].gradient.values}, {.training = true, .update = {"d"}})[0];
  EXPECT_NEAR(gradient.item<double>(), 2 * (0.5 * -2 - 3) * -2, 1e-14);
  EXPECT_THROW((void)gradients_of_updates(duel.program), Error);
  const Program parsed = Program::parse(duel.program.str());
  EXPECT_THROW((void)gradients_of_updates(parsed, "d"), Error);
}

// The rate of a Program with this schedule, and w after steps of SGD on the loss w.
struct Descent {
  Program program;
  Value loss;
  explicit Descent(const Schedule& rate, bool adjustable = true, const std::string& name = "") {
    const Value w = scalar(program, "w", 0);
    loss = w * 1.0;
    minimize(loss, Sgd{.learning_rate = rate}, {.name = name, .adjustable_rate = adjustable});
  }
};

TEST(LearningRate, OfAConstantChangesWithoutCompiling) {
  for (const char* name : {"", "d"}) {
    Descent descent(0.5, true, name);
    Session session(descent.program);
    const auto step = [&] {
      const double before = parameter(session, "w");
      session.run({}, {}, {.updates = true});
      return before - parameter(session, "w");
    };
    EXPECT_EQ(session.learning_rate(name), 0.5);
    EXPECT_EQ(step(), 0.5);
    session.learning_rate(name);
    const int plans = session.statistics().plans;
    for (const double rate : {0.25, 0.0, 3.0, 1e-300}) {
      session.set_learning_rate(rate, name);
      EXPECT_EQ(session.learning_rate(name), rate);
      const double before = parameter(session, "w");
      session.run({}, {}, {.updates = true});
      EXPECT_EQ(parameter(session, "w"), before - rate);
    }
    EXPECT_EQ(session.statistics().plans, plans);
    EXPECT_EQ(session.step(), 5u);
    for (const double rate : {-1.0, std::nan(""), HUGE_VAL}) {
      EXPECT_THROW(session.set_learning_rate(rate, name), Error);
    }
  }
}

TEST(LearningRate, OfAScheduleIsMultipliedFromThere) {
  Descent descent(Schedule::exponential(1, 0.5));
  Session session(descent.program);
  const auto step = [&] { session.run({}, {}, {.updates = true}); };
  EXPECT_EQ(session.learning_rate(), 1);
  step(), step();
  EXPECT_EQ(session.learning_rate(), 0.25);
  session.set_learning_rate(8);
  EXPECT_EQ(session.learning_rate(), 8);
  step();
  EXPECT_EQ(session.learning_rate(), 4);
  session.set_learning_rate(0);
  step();
  session.set_learning_rate(1);  // also after a rate of 0
  EXPECT_EQ(session.learning_rate(), 1);
  step();
  EXPECT_EQ(parameter(session, "w"), -(1 + 0.5 + 8 + 0 + 1));
}

TEST(LearningRate, IsFixedUnlessAskedFor) {
  Descent descent(0.5, false), schedule(Schedule::step_decay(1, 2, 0.5), false);
  EXPECT_EQ(descent.program.parameters().size(), 1u);
  Session session(descent.program), second(schedule.program);
  EXPECT_EQ(session.learning_rate(), 0.5);
  for (const double rate : {1.0, 1.0, 0.5, 0.5, 0.25}) {
    EXPECT_EQ(second.learning_rate(), rate);
    second.run({}, {}, {.updates = true});
  }
  for (Session* each : {&session, &second}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { each->set_learning_rate(1); }),
                HasSubstr("adjustable_rate = true"));
  }
}

// Three parameters with one gradient each; the norm of all is clipped.
struct Three {
  Program program;
  Value loss;
  explicit Three(const std::string& frozen = "", int accumulate = 1) {
    Value total;
    for (const char* name : {"encoder/a", "encoder/b", "head"}) {
      const Value w = scalar(program, name, 2);
      total = total ? total + w * w * w : w * w * w;
    }
    loss = total;
    if (!frozen.empty()) program.configure(frozen, {.frozen = true});
    minimize(loss, Adam{.learning_rate = 0.1, .clip = {.global_norm = 1}},
             {.accumulate = accumulate});
  }
};

TEST(Freezing, KeepsParametersAndTheirStateAtAnyTime) {
  for (const int accumulate : {1, 2}) {
    Three three("", accumulate), configured("encoder/*", accumulate);
    Session session(three.program), expected(configured.program);
    const auto step = [](Session& each) { each.run({}, {}, {.training = true, .updates = true}); };
    EXPECT_EQ(session.freeze("encoder/*"), 2);
    EXPECT_THAT(session.frozen(), testing::ElementsAre("encoder/a", "encoder/b"));
    for (int i = 0; i < 4; ++i) step(session), step(expected);
    // As if they had been frozen before minimize(), also in the norm of all gradients.
    for (const auto& each : configured.program.ir().parameters()) {
      EXPECT_TRUE(equal(session.parameter(each->name()), expected.parameter(each->name())))
          << each->name();
    }
    EXPECT_EQ(parameter(session, "encoder/a.adam_v"), 0);
    EXPECT_NE(parameter(session, "head"), 2);
    const int plans = session.statistics().plans;
    EXPECT_EQ(session.unfreeze("encoder/b"), 1);
    session.freeze("head");
    const double head = parameter(session, "head"), moment = parameter(session, "head.adam_m");
    for (int i = 0; i < 2; ++i) step(session);
    EXPECT_EQ(session.statistics().plans, plans + 1);
    EXPECT_EQ(parameter(session, "head"), head);
    EXPECT_EQ(parameter(session, "head.adam_m"), moment);
    EXPECT_EQ(parameter(session, "encoder/a"), 2);
    EXPECT_NE(parameter(session, "encoder/b"), 2);
    // Back to a set of frozen parameters that was compiled before.
    session.unfreeze("*");
    session.freeze("encoder/*");
    step(session);
    EXPECT_EQ(session.statistics().plans, plans + 1);
    EXPECT_THAT(error_of(ErrorKind::not_found, [&] { session.freeze("decoder/*"); }),
                HasSubstr("decoder/*"));
  }
}

TEST(Freezing, KeepsAveragesOfParametersThatDoNotChange) {
  for (const Average& average : {Average::exponential(0.9), Average::window(2)}) {
    Program program;
    const Value a = scalar(program, "a", 2), b = scalar(program, "b", 3);
    minimize(a * a + b * b, Sgd{.learning_rate = 0.1}, {.average = average});
    Session session(program);
    session.freeze("a");
    for (int i = 0; i < 3; ++i) session.run({}, {}, {.updates = true});
    {
      const AveragedParameters averaged(program, session);
      EXPECT_EQ(parameter(session, "a"), 2);
      EXPECT_NE(parameter(session, "b"), 3 * 0.8 * 0.8 * 0.8);
    }
    session.unfreeze("*");
    session.run({}, {}, {.updates = true});
    const AveragedParameters averaged(program, session);
    EXPECT_GT(parameter(session, "a"), 2 * 0.8 - 1e-12);
    EXPECT_LE(parameter(session, "a"), 2);
  }
}

TEST(Freezing, OfAllParametersLeavesOnlyTheCounter) {
  Three three;
  Session session(three.program);
  session.freeze("*");
  session.run({}, {three.loss}, {.training = true, .updates = true});
  EXPECT_EQ(parameter(session, "head"), 2);
  EXPECT_EQ(session.parameter("optimizer.step").item<std::int64_t>(), 1);
}

// Tables with row-sparse gradients, which are part of the norm of all gradients.
TEST(Freezing, WorksForRowSparseGradients) {
  const auto make = [](Program& program) {
    const Value ids = program.input("ids", i64, {batch});
    const auto table = [&](const char* name) {
      return nn::embedding(ids,
                           {.num_embeddings = 5, .dim = 2, .sparse_gradient = true, .name = name});
    };
    const Value x = table("one") * 3.0 + table("two");
    return mean(x * x);
  };
  Program program, configured;
  const Adam adam{.learning_rate = 0.1, .clip = {.global_norm = 0.1}};
  minimize(make(program), adam);
  const Value loss = make(configured);
  configured.configure("one*", {.frozen = true});
  minimize(loss, adam);
  Session session(program), expected(configured);
  session.freeze("one*");
  const Tensor one = session.parameter("one.weight");
  const Feeds feeds{{"ids", Tensor::from<std::int64_t>({4}, {1, 3, 3, 0})}};
  for (int i = 0; i < 3; ++i) {
    session.run(feeds, {}, {.training = true, .updates = true});
    expected.run(feeds, {}, {.training = true, .updates = true});
  }
  EXPECT_TRUE(equal(session.parameter("one.weight"), one));
  EXPECT_EQ(session.parameter("one.weight.adam_m").to_vector<float>(), std::vector<float>(10, 0));
  for (const char* name : {"two.weight", "two.weight.adam_m", "two.weight.adam_v"}) {
    EXPECT_TRUE(equal(session.parameter(name), expected.parameter(name))) << name;
  }
}

TEST(LearningRate, OfFtrlMustBeAboveZero) {
  Program program;
  const Value w = scalar(program, "w", 0);
  minimize(w * 1.0, Ftrl{.learning_rate = 0.1}, {.adjustable_rate = true});
  Session session(program);
  EXPECT_THROW(session.set_learning_rate(0), Error);
  session.set_learning_rate(0.2);
  session.run({}, {}, {.updates = true});
  EXPECT_NEAR(parameter(session, "w"), -1 / ((1 + 1) / 0.2), 1e-12);
}

// The rate of Rprop is its first step, which a later rate could not change.
TEST(LearningRate, OfRpropCannotBeAdjustable) {
  Program program;
  const Value w = scalar(program, "w", 0);
  EXPECT_THROW(minimize(w * 1.0, Rprop{}, {.adjustable_rate = true}), Error);
}

TEST(LearningRate, OfEachOptimizerIsWhatItWouldBeFromTheStart) {
  for (const Optimizer& slow : std::initializer_list<Optimizer>{
           Sgd{.learning_rate = 0.1}, AdamW{.learning_rate = 0.1}, Lamb{.learning_rate = 0.1},
           Lion{.learning_rate = 0.1, .weight_decay = 0.5}, Ftrl{.learning_rate = 0.1},
           NAdam{.learning_rate = 0.1}, RAdam{.learning_rate = 0.1}, Lars{.learning_rate = 0.1},
           Adafactor{.learning_rate = 0.1}}) {
    Optimizer fast = slow;
    std::visit([](auto& rule) { rule.learning_rate = 0.3; }, fast);
    Program changed, expected;
    for (Program* program : {&changed, &expected}) {
      const Value w = scalar(*program, "w", 2);
      minimize(w * w, program == &changed ? slow : fast, {.adjustable_rate = program == &changed});
    }
    Session first(changed), second(expected);
    first.set_learning_rate(0.3);
    for (int i = 0; i < 3; ++i) {
      first.run({}, {}, {.updates = true});
      second.run({}, {}, {.updates = true});
    }
    EXPECT_NEAR(parameter(first, "w"), parameter(second, "w"), 1e-14) << slow.index();
  }
}

}  // namespace
}  // namespace trireme
