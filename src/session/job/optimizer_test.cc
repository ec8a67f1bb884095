// What [train] says of optimizers, schedules and the like.

#include <gmock/gmock.h>

#include "base/testing/error.h"
#include "session/job/model.h"

namespace trireme::job {
namespace {

using ::testing::HasSubstr;

// The settings of a job with these lines in [train].
struct Read {
  explicit Read(const std::string& lines)
      : root(parse_toml("[data]\ntrain = \"mnist/train\"\n[model]\nlayers = [\"flatten\"]\n"
                        "[train]\nloss = \"mse\"\nepochs = 4\n" +
                            lines,
                        "x.toml")),
        settings(read_settings(root)) {}
  Node root;
  Settings settings;
};

Optimizer optimizer(const std::string& text) {
  return read_optimizer(Read("optimizer = " + text).settings, 10);
}

std::string refusal(const std::string& lines) {
  return error_of(ErrorKind::data, [&] { check_training(Read(lines).settings); });
}

TEST(JobOptimizer, NamesAndKeys) {
  EXPECT_EQ(std::get<Sgd>(optimizer("\"sgd\"")).learning_rate.rate, 0.01);
  EXPECT_TRUE(std::get<Momentum>(optimizer("{ momentum = { nesterov = true } }")).nesterov);
  EXPECT_EQ(std::get<Adagrad>(optimizer("{ adagrad = { initial = 0.5 } }")).initial, 0.5);
  EXPECT_EQ(std::get<DecayedAdagrad>(optimizer("\"decayed_adagrad\"")).decay, 0.95);
  EXPECT_EQ(std::get<Adadelta>(optimizer("{ adadelta = { decay = 0.5 } }")).decay, 0.5);
  const auto rmsprop = std::get<RmsProp>(
      optimizer("{ rmsprop = { centered = true, momentum = 0.9, weight_decay = 0.1 } }"));
  EXPECT_TRUE(rmsprop.centered);
  EXPECT_EQ(rmsprop.momentum, 0.9);
  EXPECT_EQ(rmsprop.weight_decay, 0.1);
  EXPECT_EQ(std::get<Adam>(optimizer("{ adam = { beta1 = 0.5 } }")).beta1, 0.5);
  EXPECT_EQ(std::get<AdamW>(optimizer("\"adamw\"")).weight_decay, 0.01);
  EXPECT_EQ(std::get<Adamax>(optimizer("\"adamax\"")).learning_rate.rate, 2e-3);
  EXPECT_EQ(std::get<Lamb>(optimizer("{ lamb = { epsilon = 0.1 } }")).epsilon, 0.1);
  EXPECT_EQ(std::get<Lion>(optimizer("{ lion = { beta2 = 0.9 } }")).beta2, 0.9);
  EXPECT_EQ(std::get<NAdam>(optimizer("{ nadam = { momentum_decay = 0.5 } }")).momentum_decay, 0.5);
  EXPECT_EQ(std::get<RAdam>(optimizer("\"radam\"")).beta2, 0.999);
  EXPECT_EQ(std::get<Rprop>(optimizer("{ rprop = { increase = 2, max_step = 1 } }")).increase, 2);
  EXPECT_EQ(std::get<Lars>(optimizer("{ lars = { trust = 0.01 } }")).trust, 0.01);
  const Muon muon = std::get<Muon>(
      optimizer("{ muon = { iterations = 3, adamw_parameters = [\"embedding/*\", \"head/*\"] } }"));
  EXPECT_EQ(muon.iterations, 3);
  EXPECT_EQ(muon.adamw_parameters, (std::vector<std::string>{"embedding/*", "head/*"}));
  EXPECT_EQ(
      std::get<ScheduleFreeSgd>(optimizer("{ schedule_free_sgd = { momentum = 0.5 } }")).momentum,
      0.5);
  EXPECT_EQ(std::get<ScheduleFreeAdamW>(optimizer("\"schedule_free_adamw\"")).beta1, 0.9);
  EXPECT_EQ(std::get<Adafactor>(optimizer("{ adafactor = { threshold = 2 } }")).threshold, 2);
  EXPECT_EQ(std::get<Ftrl>(optimizer("{ ftrl = { l1 = 2, l2 = 3, beta = 4 } }")).l1, 2);
}

Schedule schedule(const std::string& text, const std::string& more = "") {
  return read_schedule(Read("schedule = " + text + "\n" + more).settings, 0.5, 10);
}

TEST(JobOptimizer, SchedulesCountUpdates) {
  using Kind = Schedule::Kind;
  EXPECT_EQ(schedule("\"cosine\"").steps, 40);
  EXPECT_EQ(schedule("\"cosine\"", "accumulate = 5").steps, 8);
  EXPECT_EQ(schedule("{ step_decay = { every_epochs = 2 } }", "accumulate = 5").steps, 4);
  EXPECT_EQ(schedule("{ multi_step = { epochs = [1, 3] } }").milestones,
            (std::vector<std::int64_t>{10, 30}));
  const Schedule cycle = schedule("{ one_cycle = { rise = 0.5, warmup_steps = 0 } }");
  EXPECT_EQ(cycle.kind, Kind::one_cycle);
  EXPECT_EQ(cycle.at(19), 0.5);
  EXPECT_EQ(schedule("{ inverse_sqrt = { steps = 7 } }").at(6), 0.5);
  EXPECT_EQ(schedule("{ cyclic = { low = 0.1, rise_epochs = 2 } }").at(20), 0.5);
  EXPECT_EQ(schedule("{ cyclic = { low = 0.1, rise_epochs = 2, fall_epochs = 1 } }").at(30), 0.1);
  EXPECT_EQ(schedule("{ cosine_restarts = { epochs = 1, growth = 2, factor = 0.5 } }").at(10),
            0.25);
  const Schedule pieces = schedule("{ piecewise_constant = { epochs = [1, 3], rates = [1, 2] } }");
  EXPECT_EQ(pieces.at(9), 0.5);
  EXPECT_EQ(pieces.at(10), 1);
  EXPECT_EQ(pieces.at(30), 2);
  const Schedule plateau = schedule("{ plateau = { patience = 3, warmup_steps = 9 } }");
  EXPECT_EQ(plateau.plateau->patience, 3);
  EXPECT_FALSE(plateau.plateau->higher_is_better);
  EXPECT_EQ(plateau.warmup_steps, 9);
  EXPECT_TRUE(schedule("{ plateau = { metric = \"accuracy\" } }").plateau->higher_is_better);
}

// Four epochs of ten updates.
TEST(JobOptimizer, SchedulesOneAfterAnother) {
  const Schedule schedule_of_parts = schedule(
      "{ sequential = { epochs = [1, 3], schedules = [{ constant = { warmup_steps = 5 } }, "
      "{ cosine = { last = 0.1 } }, { exponential = { factor = 0.5 } }] } }");
  EXPECT_EQ(schedule_of_parts.at(0), 0.1);
  EXPECT_EQ(schedule_of_parts.at(9), 0.5);
  EXPECT_EQ(schedule_of_parts.at(10), 0.5);
  EXPECT_NEAR(schedule_of_parts.at(20), 0.3, 1e-15);
  EXPECT_EQ(schedule_of_parts.at(32), 0.125);
  // The last part ends with the training.
  EXPECT_NEAR(schedule("{ sequential = { epochs = [2], schedules = [\"constant\", \"cosine\"], "
                       "warmup_steps = 4 } }")
                  .at(40),
              0, 1e-15);
  EXPECT_THAT(refusal("schedule = { sequential = { epochs = [1], schedules = [\"cosine\"] } }"),
              HasSubstr("one part more than milestones"));
  EXPECT_THAT(refusal("schedule = { sequential = { epochs = [1], schedules = [\"cosine\", "
                      "\"cosin\"] } }"),
              HasSubstr("did you mean \"cosine\"?"));
  EXPECT_THAT(refusal("schedule = { sequential = { epochs = [1], schedules = \"cosine\" } }"),
              HasSubstr("must be a list of schedules"));
  EXPECT_THAT(refusal("schedule = { sequential = { epochs = [1] } }"), HasSubstr("schedules"));
  EXPECT_THAT(refusal("schedule = { sequential = { epochs = [1], schedules = [\"plateau\", "
                      "\"cosine\"] } }"),
              HasSubstr("plateau"));
}

TEST(JobOptimizer, APlateauFollowsAMetricThatIsMeasured) {
  const Read read("schedule = { plateau = { metric = \"acuracy\" } }");
  const std::vector<Metric> metrics = {{"accuracy", {}}, {"confusion", {}, Metric::Combine::sum}};
  EXPECT_THAT(error_of([&] { check_plateau(read.settings, metrics); }),
              HasSubstr("x.toml:8: train.schedule: unknown metric \"acuracy\"; did you mean "
                        "\"accuracy\"?"));
  EXPECT_NO_THROW(check_plateau(read.settings, {{"acuracy", {}}}));
}

TEST(JobOptimizer, WhatIsDoneBesideTheRule) {
  const UpdateOptions options = read_updates(
      Read("accumulate = 4\nl1 = 0.5\nl2 = 1\naverage = { exponential = { decay = 0.9 } }")
          .settings);
  EXPECT_EQ(options.accumulate, 4);
  EXPECT_EQ(options.l1, 0.5);
  EXPECT_EQ(options.average.decay, 0.9);
  EXPECT_EQ(read_updates(Read("average = { window = { updates = 7 } }").settings).average.updates,
            7);
}

TEST(JobOptimizer, SettingsOfParameters) {
  const Node layers = parse_toml(
      "all = [{ linear = { units = 3, parameters = { frozen = true } } },"
      "{ linear = { units = 2, parameters = { l1 = 0.5 } } }]",
      "x.toml");
  Program program;
  apply_layers(*layers.find("all"), {{{"x"}, program.input("x", f32, {batch, 4})}});
  const Read read("parameters = [{ match = \"*.bias\", weight_decay = 0, learning_rate = 2 }]");
  configure_parameters(program, read.settings);
  EXPECT_TRUE(program.settings("linear_0.weight").frozen);
  EXPECT_TRUE(program.settings("linear_0.bias").frozen);
  EXPECT_EQ(program.settings("linear_1.weight").l1, 0.5);
  EXPECT_EQ(program.settings("linear_1.bias").l1, 0.5);
  EXPECT_EQ(program.settings("linear_1.bias").weight_decay, 0);
  EXPECT_EQ(program.settings("linear_1.weight").weight_decay, 1);

  const auto refused = [&](const std::string& lines) {
    return error_of(ErrorKind::data, [&] { configure_parameters(program, Read(lines).settings); });
  };
  EXPECT_THAT(refused("parameters = [{ match = \"linear_1.wait\" }]"),
              HasSubstr("did you mean \"linear_1.weight\"?"));
  EXPECT_THAT(refused("parameters = [{ match = \"*\", forzen = true }]"),
              HasSubstr("did you mean \"frozen\"?"));
  EXPECT_THAT(refused("parameters = [{ match = \"*\", learning_rate = 0 }]"),
              HasSubstr("frozen = true"));
  EXPECT_THAT(refused("parameters = [{ frozen = true }]"), HasSubstr("\"match\" is missing"));
}

TEST(JobOptimizer, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal("optimizer = \"rmsprob\""), HasSubstr("did you mean \"rmsprop\"?"));
  EXPECT_THAT(refusal("optimizer = { rmsprop = { center = true } }"),
              HasSubstr("x.toml:8: train.optimizer.rmsprop.center: unknown key; did you mean "
                        "\"centered\"?"));
  EXPECT_THAT(refusal("optimizer = { ftrl = { weight_decay = 1 } }"), HasSubstr("unknown key"));
  EXPECT_THAT(refusal("optimizer = { adam = { beta2 = 1.5 } }"), HasSubstr("must be in [0, 1)"));
  EXPECT_THAT(refusal("optimizer = { ftrl = { l1 = -1 } }"), HasSubstr("must not be negative"));
  EXPECT_THAT(refusal("optimizer = { lion = { learning_rate = 0 } }"), HasSubstr("above 0"));
  EXPECT_THAT(refusal("schedule = \"onecycle\""), HasSubstr("did you mean \"one_cycle\"?"));
  EXPECT_THAT(refusal("schedule = { one_cycle = { rise = 2 } }"),
              HasSubstr("x.toml:8: train.schedule: one_cycle: the rise must be"));
  EXPECT_THAT(refusal("schedule = { plateau = { factor = 2 } }"), HasSubstr("between 0 and 1"));
  EXPECT_THAT(refusal("schedule = { multi_step = { epochs = [3, 2] } }"),
              HasSubstr("must be in ascending order"));
  EXPECT_THAT(refusal("average = { window = { updates = 0 } }"), HasSubstr("at least 1"));
  EXPECT_THAT(refusal("average = \"mean\""), HasSubstr("known  exponential, window"));
  EXPECT_THAT(refusal("accumulate = 0"), HasSubstr("must be at least 1"));
  EXPECT_THAT(refusal("l1 = -1"), HasSubstr("must not be negative"));
}

}  // namespace
}  // namespace trireme::job
