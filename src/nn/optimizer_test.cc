#include "trireme/optimizer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "nn/schedule.h"
#include "nn/testing/running.h"

namespace trireme::nn {
namespace {

using ops::RefTensor;
using ops::RefTensors;

// Two parameters with gradients from inputs, updated by the optimizer.
class Steps {
 public:
  explicit Steps(const Optimizer& optimizer) {
    for (const char* name : {"a", "b"}) {
      parameters_.push_back(program_.parameter(name, f64, {3}));
      gradients_.push_back(program_.input(std::string(name) + "_gradient", f64, {3}));
    }
    apply_updates(optimizer, parameters_, gradients_);
    values_ = first_values(program_);
    values_["a"] = tensor({3}, {1, -2, 3});
    values_["b"] = tensor({3}, {0.5, 0, -0.5});
  }
  void step(const std::vector<double>& a, const std::vector<double>& b) {
    const RefTensors inputs{{"a_gradient", tensor({3}, a)}, {"b_gradient", tensor({3}, b)}};
    ops::evaluate(program_.ir(), inputs, values_, {});
  }
  const std::vector<double>& operator[](const char* name) { return values_.at(name).data; }
  void set_a(const std::vector<double>& a) { values_["a"] = tensor({3}, a); }
  Program& program() { return program_; }

 private:
  Program program_;
  std::vector<Value> parameters_, gradients_;
  RefTensors values_;
};

TEST(Optimizers, SgdAppliesWeightDecay) {
  Steps steps(Sgd{.learning_rate = 0.1, .weight_decay = 0.5});
  steps.step({1, 1, 1}, {0, 0, 0});
  EXPECT_NEAR(steps["a"][0], 1 - 0.1 * (1 + 0.5), 1e-12);
  EXPECT_NEAR(steps["b"][2], -0.5 + 0.1 * 0.25, 1e-12);
}

TEST(Optimizers, MomentumAndNesterovAgreeWithTheirFormulas) {
  for (const bool nesterov : {false, true}) {
    Steps steps(Momentum{.learning_rate = 0.1, .momentum = 0.9, .nesterov = nesterov});
    double p = 1, v = 0;
    for (const double g : {1.0, -0.5, 2.0}) {
      steps.step({g, 0, 0}, {0, 0, 0});
      v = 0.9 * v + g;
      p -= 0.1 * (nesterov ? g + 0.9 * v : v);
      EXPECT_NEAR(steps["a"][0], p, 1e-12);
      EXPECT_NEAR(steps["a.momentum"][0], v, 1e-12);
    }
  }
}

TEST(Optimizers, AdamAndAdamWAgreeWithTheirFormulas) {
  for (const bool decoupled : {false, true}) {
    const Schedule rate = Schedule::exponential(0.1, 0.5);
    Steps steps(decoupled ? Optimizer(AdamW{.learning_rate = rate, .weight_decay = 0.3})
                          : Optimizer(Adam{.learning_rate = rate, .weight_decay = 0.3}));
    double p = -2, m = 0, v = 0;
    int t = 0;
    for (double g : {1.0, -0.5, 2.0, 1e-3}) {
      steps.step({0, g, 0}, {0, 0, 0});
      const double now = 0.1 * std::pow(0.5, t++);
      if (decoupled) p *= 1 - now * 0.3;
      else g += 0.3 * p;
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      p -= now * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
      EXPECT_NEAR(steps["a"][1], p, 1e-12);
    }
    EXPECT_EQ(steps["optimizer.step"][0], 4);
    EXPECT_FALSE(steps.program().ir().find_parameter("a.adam_m")->trainable);
  }
}

TEST(Optimizers, AdamWSupportsAConstantRate) {
  Steps steps(AdamW{.learning_rate = 0.1, .weight_decay = 0.3});
  steps.step({1, 1, 1}, {0, 0, 0});
  EXPECT_NEAR(steps["a"][0], 1 - 0.03 - 0.1, 1e-8);
}

TEST(Optimizers, ClipByValueNormAndGlobalNorm) {
  Steps by_value(Sgd{.learning_rate = 1, .clip = {.value = 0.5}});
  by_value.step({3, -4, 0.25}, {0, 0, 0});
  EXPECT_EQ(by_value["a"], (std::vector<double>{0.5, -1.5, 2.75}));

  Steps by_norm(Sgd{.learning_rate = 1, .clip = {.norm = 1}});
  by_norm.step({3, -4, 0}, {0.1, 0.1, 0});
  EXPECT_NEAR(by_norm["a"][0], 1 - 0.6, 1e-6);
  EXPECT_NEAR(by_norm["b"][0], 0.4, 1e-12);

  Steps global(Sgd{.learning_rate = 1, .clip = {.global_norm = 1}});
  global.step({3, 0, 0}, {4, 0, 0});
  EXPECT_NEAR(global["a"][0], 1 - 0.6, 1e-6);
  EXPECT_NEAR(global["b"][0], 0.5 - 0.8, 1e-6);
}

TEST(Optimizers, RejectInvalidOptions) {
  EXPECT_THROW(Steps(Adam{.beta2 = 1}), Error);
  EXPECT_THROW(Steps(RmsProp{.decay = -0.1}), Error);
  EXPECT_THROW(Steps(Adagrad{.initial = -1}), Error);
  EXPECT_THROW(Steps(Ftrl{.l1 = -1}), Error);
  EXPECT_THROW(Steps(Ftrl{.learning_rate = 0}), Error);
  EXPECT_THROW(Steps(Lion{.learning_rate = NAN}), Error);
  EXPECT_THROW(Steps(Sgd{.clip = {.norm = -1}}), Error);
  EXPECT_THROW(Steps(NAdam{.momentum_decay = -1}), Error);
  EXPECT_THROW(Steps(RAdam{.beta2 = 1}), Error);
  EXPECT_THROW(Steps(Rprop{.decrease = 1}), Error);
  EXPECT_THROW(Steps(Rprop{.increase = 1}), Error);
  EXPECT_THROW(Steps(Rprop{.min_step = 2, .max_step = 1}), Error);
  EXPECT_THROW(Steps(Rprop{.learning_rate = Schedule::exponential(0.1, 0.5)}), Error);
  EXPECT_THROW(Steps(Lars{.trust = 0}), Error);
  EXPECT_THROW(Steps(Adafactor{.decay_power = 0}), Error);
  EXPECT_THROW(Steps(Adafactor{.threshold = NAN}), Error);
  EXPECT_THROW(Steps(Sgd{.learning_rate = Schedule::piecewise_constant({1, -1}, {3})}), Error);
  EXPECT_THROW(Steps(Sgd{.learning_rate = Schedule::sequential({1, NAN}, {3})}), Error);
}

// The square of 1e200 overflows. Such a gradient makes no step, and later ones none either.
TEST(Optimizers, RmsPropWithHugeGradients) {
  for (const bool centered : {false, true}) {
    Steps steps(RmsProp{.learning_rate = 0.1, .centered = centered});
    steps.step({1e200, 1, 0}, {0, 0, 0});
    steps.step({1, 1, INFINITY}, {0, 0, 0});
    EXPECT_EQ(steps["a"][0], 1) << centered;
    EXPECT_LT(steps["a"][1], -2.1) << centered;
    EXPECT_TRUE(std::isnan(steps["a"][2])) << centered;
  }
}

TEST(Optimizers, FtrlKeepsAnInfiniteParameter) {
  Steps steps(Ftrl{.learning_rate = 0.1});
  steps.set_a({INFINITY, 1, -INFINITY});
  steps.step({1, 1, 1}, {0, 0, 0});
  steps.step({1, 1, 1}, {0, 0, 0});
  EXPECT_EQ(steps["a"][0], INFINITY);
  EXPECT_TRUE(std::isfinite(steps["a"][1]));
  EXPECT_EQ(steps["a"][2], -INFINITY);
}

TEST(Optimizers, LambDoesNotDivideByZero) {
  Steps steps(Lamb{.learning_rate = 0.1, .weight_decay = 0});
  steps.step({0, 0, 0}, {0, 0, 0});
  EXPECT_EQ(steps["a"], (std::vector<double>{1, -2, 3}));
}

// All parameters share the product of momenta, which is updated once in a step.
TEST(Optimizers, NAdamSharesItsProduct) {
  Steps steps(NAdam{.learning_rate = 0.1});
  double product = 1;
  for (int t = 1; t <= 3; ++t) {
    steps.step({1, 1, 1}, {1, 1, 1});
    product *= 0.9 * (1 - 0.5 * std::pow(0.96, t * 4e-3));
    EXPECT_NEAR(steps["optimizer.nadam_product"][0], product, 1e-12) << t;
  }
  EXPECT_EQ(steps.program().ir().find_parameter("optimizer.nadam_product")->trainable, false);
}

// The sizes of a are doubled, kept and halved; b has no gradient.
TEST(Optimizers, RpropChangesItsStepsBySigns) {
  Steps steps(Rprop{.learning_rate = 0.25, .decrease = 0.5, .increase = 2, .max_step = 0.75});
  steps.step({1, -1e-300, 0}, {0, 0, 0});
  EXPECT_EQ(steps["a"], (std::vector<double>{0.75, -1.75, 3}));
  steps.step({7, 1e-300, 2}, {0, 0, 0});
  EXPECT_EQ(steps["a"], (std::vector<double>{0.25, -1.75, 2.75}));
  steps.step({INFINITY, 1, NAN}, {0, 0, 0});
  EXPECT_EQ(steps["a"][0], -0.5);
  EXPECT_EQ(steps["a"][1], -1.875);
  EXPECT_TRUE(std::isnan(steps["a"][2]));
  EXPECT_EQ(steps["a.rprop_step"][0], 0.75);
  EXPECT_EQ(steps["b"], (std::vector<double>{0.5, 0, -0.5}));
}

TEST(Optimizers, LarsAndAdafactorDoNotDivideByZero) {
  for (const Optimizer& optimizer : {Optimizer(Lars{.weight_decay = 0}), Optimizer(Adafactor{})}) {
    Steps steps(optimizer);
    steps.step({0, 0, 0}, {0, 0, 0});
    EXPECT_EQ(steps["a"], (std::vector<double>{1, -2, 3})) << optimizer.index();
    steps.set_a({0, 0, 0});
    steps.step({1, 0, -1}, {0, 0, 0});
    for (const double x : steps["a"]) EXPECT_TRUE(std::isfinite(x)) << optimizer.index();
  }
}

TEST(Optimizers, AdafactorKeepsRowsAndColumns) {
  Program program;
  const Value w = program.parameter("w", f64, {5, 4, 3}), one = program.parameter("one", f64, {});
  apply_updates(Adafactor{}, {w, one},
                {program.input("g", f64, {5, 4, 3}), program.input("h", f64, {})});
  EXPECT_EQ(program.find("w.adafactor_rows").shape(), (Shape{5, 4}));
  EXPECT_EQ(program.find("w.adafactor_columns").shape(), (Shape{5, 3}));
  EXPECT_EQ(program.find("one.adafactor_v").shape(), Shape{});
  EXPECT_FALSE(program.ir().find_parameter("w.adafactor_rows")->trainable);
  // Each matrix has rows and columns of its own. Of rank one, v is exact: g / sqrt(v) is a sign.
  RefTensors values = first_values(program);
  RefTensor g({5, 4, 3});
  for (std::size_t i = 0; i < 60; ++i) {
    const double row = 1 + static_cast<double>(i / 3), column = 1 + static_cast<double>(i % 3);
    g.data[i] = (i % 2 == 0 ? 1 : -1) * row * column;
  }
  values["w"] = RefTensor({5, 4, 3});
  std::fill(values["w"].data.begin(), values["w"].data.end(), 2.0);
  ops::evaluate(program.ir(), {{"g", g}, {"h", tensor({}, {1})}}, values, {});
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_NEAR(values["w"].data[i], 2 - (i % 2 == 0 ? 2 : -2) * 0.01, 1e-12) << i;
  }
}

// One update from parameters of 0.5 with the gradients of `g`.
RefTensors after_one_update(const Optimizer& optimizer, const Shape& shape, const RefTensor& g) {
  Program program;
  const Value w = program.parameter("head/w", f64, shape);
  apply_updates(optimizer, {w}, {program.input("g", f64, shape)});
  RefTensors values = first_values(program);
  std::fill(values["head/w"].data.begin(), values["head/w"].data.end(), 0.5);
  ops::evaluate(program.ir(), {{"g", g}}, values, {});
  return values;
}

TEST(Optimizers, MuonLeavesVectorsAndChosenMatricesToAdamW) {
  const Muon muon{.learning_rate = 0.125, .adamw_factor = 0.25, .weight_decay = 0.3};
  const AdamW adamw{.learning_rate = 0.03125, .beta2 = 0.95, .weight_decay = 0.3};
  const RefTensor g = noise({6});
  EXPECT_EQ(after_one_update(muon, {6}, g)["head/w"].data,
            after_one_update(adamw, {6}, g)["head/w"].data);
  Muon chosen = muon;
  chosen.adamw_parameters = {"embedding/*", "head/*"};
  const RefTensor matrix = noise({2, 3});
  EXPECT_EQ(after_one_update(chosen, {2, 3}, matrix)["head/w"].data,
            after_one_update(adamw, {2, 3}, matrix)["head/w"].data);
  EXPECT_NE(after_one_update(muon, {2, 3}, matrix)["head/w"].data,
            after_one_update(adamw, {2, 3}, matrix)["head/w"].data);
}

// After enough iterations u u^T is about the identity, of the smaller side of the matrix.
TEST(Optimizers, MuonStepsAlongOrthogonalMatrices) {
  for (const Shape& shape : {Shape{3, 5}, Shape{5, 3}, Shape{2, 2, 3}}) {
    std::vector<std::int64_t> sizes;
    for (const Dim& size : shape) sizes.push_back(size.constant());
    const RefTensor g = noise(sizes, 5);
    const RefTensor w = after_one_update(Muon{.learning_rate = 1}, shape, g)["head/w"];
    const auto columns = static_cast<std::size_t>(sizes.back()), rows = g.data.size() / columns;
    const double scale =
        std::sqrt(std::max(1.0, static_cast<double>(columns) / static_cast<double>(rows)));
    double squares = 0, product = 0;
    for (std::size_t i = 0; i < g.data.size(); ++i) {
      const double u = (0.5 - w.data[i]) / scale;
      squares += u * u;
      product += u * g.data[i];
    }
    const auto side = static_cast<double>(std::min(rows, columns));
    EXPECT_GT(squares, 0.4 * side);  // singular values between 0.7 and 1.2
    EXPECT_LT(squares, 1.5 * side);
    EXPECT_GT(product, 0);
  }
  // No direction: no step.
  EXPECT_EQ(after_one_update(Muon{}, {2, 3}, RefTensor({2, 3}))["head/w"].data,
            std::vector<double>(6, 0.5));
}

TEST(Optimizers, ScheduleFreeKeepsTheMeanOfItsSteps) {
  Program program;
  const Value p = program.parameter("p", f64, {});
  apply_updates(ScheduleFreeSgd{.learning_rate = 0.1, .momentum = 0.75}, {p},
                {program.input("g", f64, {})});
  RefTensors values = first_values(program);
  values["p"].data = {2};
  double z = 2, sum = 0;
  for (int t = 1; t <= 5; ++t) {
    ops::evaluate(program.ir(), {{"g", tensor({}, {std::sin(t)})}}, values, {});
    z -= 0.1 * std::sin(t);
    sum += z;
    EXPECT_NEAR(values["p.average"].data[0], sum / t, 1e-14);
    EXPECT_NEAR(values["p"].data[0], 0.25 * z + 0.75 * sum / t, 1e-14);
  }
  EXPECT_TRUE(keeps_averages(ScheduleFreeAdamW{}));
  EXPECT_FALSE(keeps_averages(Adam{}));
  // A rate of 0 takes no step and has no weight.
  Program resting;
  apply_updates(ScheduleFreeSgd{.learning_rate = Schedule::multi_step(0, {3}, 0.5)},
                {resting.parameter("p", f64, {})}, {resting.input("g", f64, {})});
  RefTensors rest = first_values(resting);
  rest["p"].data = {2};
  ops::evaluate(resting.ir(), {{"g", tensor({}, {1})}}, rest, {});
  EXPECT_EQ(rest["p"].data[0], 2);
}

TEST(Optimizers, RefuseOptionsOfNewRules) {
  const auto refused = [](const Optimizer& optimizer, const UpdateOptions& options = {}) {
    Program program;
    const Value p = program.parameter("p", f64, {2, 2}), g = program.input("g", f64, {2, 2});
    EXPECT_THROW(apply_updates(optimizer, {p}, {g}, options), Error);
  };
  refused(Muon{.momentum = 1});
  refused(Muon{.iterations = 0});
  refused(Muon{.adamw_factor = -1});
  refused(ScheduleFreeSgd{.momentum = -0.1});
  refused(ScheduleFreeAdamW{.beta1 = 1});
  refused(ScheduleFreeAdamW{}, {.average = Average::exponential()});
}

TEST(Schedules, OfAFunction) {
  int calls = 0;
  const Schedule schedule = Schedule::function([&](const Value& step) {
    ++calls;
    return trireme::where(step < 3.0, 0.5, exp(-step) + 1.0 / maximum(step, 1.0));
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(schedule.rate, 0.5);
  EXPECT_EQ(schedule.at(2), 0.5);
  EXPECT_NEAR(schedule.at(4), std::exp(-4.0) + 0.25, 1e-15);
  EXPECT_EQ(calls, 1);
  // Whole numbers and constants.
  EXPECT_EQ(Schedule::function([](const Value& step) {
              return cast(floor(step * 0.5), {.dtype = i64});
            }).at(5),
            2);
  const auto refused = [](const std::function<Value(const Value&)>& formula) {
    EXPECT_THROW(Schedule::function(formula), Error);
  };
  refused({});
  refused([](const Value& step) { return step - 1.0; });
  refused([](const Value& step) { return log(step); });
  refused([](const Value&) { return Value(); });
  refused([](const Value& step) { return reshape(step, {.shape = {1}}); });
  refused([](const Value& step) { return step < 2.0; });
  Program other;
  refused([&](const Value&) { return other.input("rate", f64, {}); });
}

TEST(Schedules, AgreeInTheProgramAndOnTheHost) {
  const std::vector<Schedule> schedules = {
      Schedule(0.3),
      Schedule(0.3).warmup(4),
      Schedule::step_decay(0.3, 3, 0.5),
      Schedule::exponential(0.3, 0.9).warmup(2),
      Schedule::cosine(0.3, 7, 0.01),
      Schedule::polynomial(0.3, 7, 0.01, 2).warmup(3),
      Schedule::cyclic(0.1, 0.3, 2, 3, 0.5, 0.9).warmup(2),
      Schedule::cosine_restarts(0.3, 2, 2, 0.01, 0.5).warmup(1),
      Schedule::piecewise_constant({0.3, 0.1, 0.2}, {4, 4}).warmup(3),
      Schedule::sequential({0.3, Schedule::cosine(0.2, 4).warmup(2)}, {5}).warmup(2),
      Schedule::function([](const Value& step) { return 0.3 / sqrt(step + 1.0); }).warmup(3),
  };
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    Program program;
    const Value step = program.input("step", f64, {});
    const Value rate = rate_at(schedules[i], step);
    RefTensors none;
    for (int s = 0; s < 14; ++s) {
      const double value =
          run(program, rate, {{"step", tensor({}, {static_cast<double>(s)})}}, none).data[0];
      EXPECT_NEAR(value, schedules[i].at(s), 1e-12) << "schedule " << i << " step " << s;
    }
  }
  EXPECT_NEAR(Schedule::cosine(1, 10, 0).at(5), 0.5, 1e-12);
  EXPECT_NEAR(Schedule::step_decay(1, 3, 0.5).at(7), 0.25, 1e-12);
  EXPECT_NEAR(Schedule(1.0).warmup(4).at(0), 0.25, 1e-12);
  EXPECT_THROW(Schedule::cosine(1, 0), Error);
  EXPECT_NEAR(Schedule::cyclic(0.1, 0.3, 2).at(3), 0.2, 1e-12);
  EXPECT_NEAR(Schedule::cosine_restarts(1, 2, 2).at(4), 0.5, 1e-12);
  EXPECT_THROW(Schedule::cyclic(0, 1, 0), Error);
  EXPECT_THROW(Schedule::cyclic(0, 1, 1, -1), Error);
  EXPECT_THROW(Schedule::cosine_restarts(1, 0), Error);
  EXPECT_THROW(Schedule::cosine_restarts(1, 1, 0), Error);
  EXPECT_THROW(Schedule::piecewise_constant({1}, {3}), Error);
  EXPECT_THROW(Schedule::piecewise_constant({1, 2, 3}, {5, 4}), Error);
  EXPECT_THROW(Schedule::sequential({}, {}), Error);
  EXPECT_THROW(Schedule::sequential({1, Schedule(1).on_plateau({})}, {4}), Error);
}

}  // namespace
}  // namespace trireme::nn
