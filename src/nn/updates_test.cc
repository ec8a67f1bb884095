// Tests of accumulation, parameter settings and averages, which are independent of the optimizer
// rules.

#include "nn/updates.h"

#include <gmock/gmock.h>

#include <cmath>

#include "nn/schedule.h"
#include "nn/testing/running.h"

namespace trireme::nn {
namespace {

using ops::RefTensor;
using ops::RefTensors;
using Numbers = std::vector<double>;

// One parameter "p" of two numbers, with gradients from inputs.
class Steps {
 public:
  explicit Steps(const Optimizer& optimizer, const UpdateOptions& options = {},
                 const ParameterSettings& settings = {}) {
    const Value p = program_.parameter("p", f64, {2}, {.settings = settings});
    const Value g = program_.input("g", f64, {2});
    apply_updates(optimizer, {p}, {g}, options);
    values_ = first_values(program_);
    values_["p"] = tensor({2}, {1, -2});
  }
  void step(const Numbers& gradient) {
    const RefTensors inputs{{"g", tensor({2}, gradient)}};
    ops::evaluate(program_.ir(), inputs, values_, {});
  }
  const Numbers& operator[](const char* name) { return values_.at(name).data; }
  bool has(const char* name) { return values_.contains(name); }

 private:
  Program program_;
  RefTensors values_;
};

Numbers gradient_of(int step) { return {std::sin(step * 1.7) + 0.3, std::cos(step * 0.9)}; }

TEST(Accumulation, UpdatesWithTheMeanOfTheGradients) {
  const std::vector<Optimizer> optimizers = {
      Sgd{.learning_rate = 0.1, .clip = {.global_norm = 0.5}},
      AdamW{.learning_rate = Schedule::cosine(0.1, 5), .weight_decay = 0.1}, Ftrl{},
      Lamb{.learning_rate = 0.1}, RmsProp{.momentum = 0.5}};
  for (const Optimizer& optimizer : optimizers) {
    const Average average = Average::exponential(0.5);
    Steps single(optimizer, {.average = average});
    Steps summed(optimizer, {.accumulate = 3, .average = average});
    for (int update = 0; update < 4; ++update) {
      Numbers mean(2);
      for (int i = 0; i < 3; ++i) {
        const Numbers before = summed["p"], g = gradient_of(3 * update + i);
        summed.step(g);
        mean[0] += g[0] / 3;
        mean[1] += g[1] / 3;
        if (i < 2) {
          EXPECT_EQ(summed["p"], before);
        }
      }
      single.step(mean);
      for (const char* name : {"p", "p.average"}) {
        for (std::size_t i : {0u, 1u}) {
          EXPECT_NEAR(summed[name][i], single[name][i], 1e-12) << optimizer.index();
        }
      }
      EXPECT_EQ(summed["p.gradient"], (Numbers{0, 0}));
      EXPECT_EQ(summed["optimizer.step"][0], update + 1);
    }
  }
}

TEST(ParameterSettings, ScaleTheRateAndAddPenalties) {
  const auto after = [](const Optimizer& optimizer, const UpdateOptions& options,
                        const ParameterSettings& settings) {
    Steps steps(optimizer, options, settings);
    steps.step({1, 0});
    return steps["p"];
  };
  using ::testing::DoubleNear;
  using ::testing::ElementsAre;
  const auto near = [](double x) { return DoubleNear(x, 1e-12); };
  const Sgd sgd{.learning_rate = 0.1, .weight_decay = 0.5};
  EXPECT_THAT(after(sgd, {}, {.learning_rate = 2}), ElementsAre(near(1 - 0.3), near(-2 + 0.2)));
  EXPECT_THAT(after(sgd, {}, {.weight_decay = 0}), ElementsAre(near(0.9), near(-2)));
  EXPECT_THAT(after(sgd, {}, {.weight_decay = 3}),
              ElementsAre(near(1 - 0.1 * 2.5), near(-2 + 0.1 * 3)));
  EXPECT_THAT(after(sgd, {}, {.weight_decay = 0, .l1 = 0.25, .l2 = 0.125}),
              ElementsAre(near(1 - 0.1 * 1.375), near(-2 + 0.1 * 0.5)));
  EXPECT_THAT(after(sgd, {.l1 = 0.25, .l2 = 0.5}, {.weight_decay = 2}),
              ElementsAre(near(1 - 0.1 * (1 + 0.5 + 2)), near(-2 + 0.1 * (0.5 + 4))));
  EXPECT_THAT(after(AdamW{.learning_rate = Schedule::exponential(0.1, 0.5),
                          .weight_decay = 0.5,
                          .clip = {.value = 1}},
                    {}, {.learning_rate = 2, .weight_decay = 3}),
              ElementsAre(DoubleNear(1 - 0.2 * 1.5 - 0.2, 1e-7), near(-2 * (1 - 0.2 * 1.5))));
}

TEST(ParameterSettings, FrozenParametersHaveNoState) {
  Steps steps(Adam{}, {.accumulate = 2, .average = Average::window(3)}, {.frozen = true});
  steps.step({1, 1});
  EXPECT_EQ(steps["p"], (Numbers{1, -2}));
  for (const char* name : {"p.adam_m", "p.gradient", "p.average"}) EXPECT_FALSE(steps.has(name));
}

TEST(Averages, ExponentialAverageIsTheWeightedSum) {
  for (const bool correct : {true, false}) {
    const double d = 0.75;
    Steps steps(Sgd{.learning_rate = 0.5}, {.average = Average::exponential(d, correct)});
    std::vector<double> seen = {steps["p"][1]};  // before the first update
    for (int t = 1; t <= 20; ++t) {
      steps.step(gradient_of(t));
      seen.push_back(steps["p"][1]);
      double sum = correct ? 0 : std::pow(d, t) * seen[0];
      for (int i = 1; i <= t; ++i) {
        sum += (1 - d) * std::pow(d, t - i) * seen[static_cast<std::size_t>(i)];
      }
      if (correct) sum /= 1 - std::pow(d, t);
      EXPECT_NEAR(steps["p.average"][1], sum, 1e-12) << "update " << t;
    }
  }
}

TEST(Averages, WindowAverageIsTheMeanOfTheLastUpdates) {
  for (const int window : {1, 4}) {
    Steps steps(Sgd{.learning_rate = 0.5}, {.average = Average::window(window)});
    std::vector<double> seen;
    for (int t = 1; t <= 30; ++t) {
      steps.step(gradient_of(t));
      seen.push_back(steps["p"][1]);
      const int inside = (t - 1) % window + 1;
      const int count = t <= window ? t : window + inside;
      double sum = 0;
      for (int i = 0; i < count; ++i) sum += seen[seen.size() - 1 - static_cast<std::size_t>(i)];
      EXPECT_NEAR(steps["p.average"][1], sum / count, 1e-12) << "update " << t;
    }
  }
}

TEST(Updates, RejectInvalidOptions) {
  EXPECT_THROW(Steps(Sgd{}, {.accumulate = 0}), Error);
  EXPECT_THROW(Steps(Sgd{}, {.l1 = -1}), Error);
  EXPECT_THROW(Steps(Sgd{}, {}, {.l2 = -1}), Error);
  EXPECT_THROW(Steps(Sgd{}, {}, {.learning_rate = 0}), Error);
  EXPECT_THROW(Average::exponential(1), Error);
  EXPECT_THROW(Average::window(0), Error);
  EXPECT_THROW(Schedule(1.0).on_plateau({.factor = 1}), Error);
  EXPECT_THROW(Schedule::one_cycle(1, 10, 1), Error);
  EXPECT_THROW(Schedule::multi_step(1, {3, 2}, 0.1), Error);
}

// The factors after each measurement.
Numbers factors_after(const Plateau& plateau, const Numbers& measured) {
  PlateauState state{.best = std::nan("")};
  Numbers factors;
  for (const double value : measured) {
    state = after_measuring(state, plateau, value);
    factors.push_back(state.factor);
  }
  return factors;
}

TEST(PlateauState, ReducesTheRateWhenNothingIsBetter) {
  const Plateau plateau{.factor = 0.5, .patience = 1};
  EXPECT_EQ(factors_after(plateau, {5, 5, 5, 4, 4, 4}), (Numbers{1, 1, 0.5, 0.5, 0.5, 0.25}));
}

TEST(PlateauState, EveryFiniteValueIsBetterThanInfinity) {
  const double infinity = HUGE_VAL;
  const Plateau falling{.factor = 0.5, .patience = 0};
  EXPECT_EQ(factors_after(falling, {infinity, 5, 4, 3}), (Numbers{1, 1, 1, 1}));
  const Plateau rising{.factor = 0.5, .patience = 0, .higher_is_better = true};
  EXPECT_EQ(factors_after(rising, {-infinity, 5, 6, 7}), (Numbers{1, 1, 1, 1}));
  EXPECT_EQ(factors_after(falling, {infinity, infinity}), (Numbers{1, 0.5})) << "not better";
}

TEST(PlateauState, NanIsNeverBetter) {
  const Plateau plateau{.factor = 0.5, .patience = 0};
  EXPECT_EQ(factors_after(plateau, {std::nan(""), 5, 4}), (Numbers{1, 1, 1}));
  EXPECT_EQ(factors_after(plateau, {5, std::nan("")}), (Numbers{1, 0.5}));
}

TEST(Settings, ApplyToNamesThatMatchThePattern) {
  Program program;
  const Value x = program.input("x", f32, {batch, 4});
  linear(linear(x, {.units = 3, .weight_settings = {.l1 = 0.5}, .name = "encoder"}),
         {.units = 2, .name = "head"});
  EXPECT_EQ(program.settings("encoder.weight").l1, 0.5);
  EXPECT_EQ(program.configure("*.bias", {.weight_decay = 0}), 2);
  EXPECT_EQ(program.configure("encoder.*", {.frozen = true}), 2);
  EXPECT_TRUE(program.settings("encoder.bias").frozen);
  EXPECT_EQ(program.settings("head.bias").weight_decay, 0);
  EXPECT_FALSE(program.settings("head.weight").frozen);
  EXPECT_EQ(Program::parse(program.str()).settings("head.bias").weight_decay, 0);
  EXPECT_THROW(program.configure("decoder.*", {}), Error);
  EXPECT_THROW(program.configure("head.*", {.l1 = -1}), Error);
  for (const char* good : {"*", "enc*", "*weight", "e*r.w*t", "encoder.weight", "**"}) {
    EXPECT_TRUE(ir::matches(good, "encoder.weight")) << good;
  }
  for (const char* bad : {"", "encoder", "*.bias", "e*x*t", "encoder.weight*2"}) {
    EXPECT_FALSE(ir::matches(bad, "encoder.weight")) << bad;
  }
}

}  // namespace
}  // namespace trireme::nn
