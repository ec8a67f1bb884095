// What [train] says of optimizers, schedules and the like.

#include <gmock/gmock.h>

#include "base/error.h"
#include "session/job_model.h"

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
  try {
    check_training(Read(lines).settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return error.what();
  }
  return "nothing was refused";
}

TEST(JobOptimizer, NamesAndKeys) {
  EXPECT_EQ(std::get<Sgd>(optimizer("\"sgd\"")).learning_rate.rate, 0.01);
  EXPECT_TRUE(std::get<Momentum>(optimizer("{ momentum = { nesterov = true } }")).nesterov);
  EXPECT_EQ(std::get<Adagrad>(optimizer("{ adagrad = { initial = 0.5 } }")).initial, 0.5);
  EXPECT_EQ(std::get<DecayedAdagrad>(optimizer("\"decayed_adagrad\"")).decay, 0.95);
  EXPECT_EQ(std::get<Adadelta>(optimizer("{ adadelta = { decay = 0.5 } }")).decay, 0.5);
  const auto rmsprop = std::get<RmsProp>(
      optimizer("{ rmsprop = { centred = true, momentum = 0.9, weight_decay = 0.1 } }"));
  EXPECT_TRUE(rmsprop.centred);
  EXPECT_EQ(rmsprop.momentum, 0.9);
  EXPECT_EQ(rmsprop.weight_decay, 0.1);
  EXPECT_EQ(std::get<Adam>(optimizer("{ adam = { beta1 = 0.5 } }")).beta1, 0.5);
  EXPECT_EQ(std::get<AdamW>(optimizer("\"adamw\"")).weight_decay, 0.01);
  EXPECT_EQ(std::get<Adamax>(optimizer("\"adamax\"")).learning_rate.rate, 2e-3);
  EXPECT_EQ(std::get<Lamb>(optimizer("{ lamb = { epsilon = 0.1 } }")).epsilon, 0.1);
  EXPECT_EQ(std::get<Lion>(optimizer("{ lion = { beta2 = 0.9 } }")).beta2, 0.9);
  EXPECT_EQ(std::get<Ftrl>(optimizer("{ ftrl = { l1 = 2, l2 = 3, beta = 4 } }")).l1, 2);
}

TEST(JobOptimizer, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal("optimizer = \"rmsprob\""), HasSubstr("did you mean \"rmsprop\"?"));
  EXPECT_THAT(refusal("optimizer = { rmsprop = { centered = true } }"),
              HasSubstr("x.toml:8: train.optimizer.rmsprop.centered: unknown key; did you mean "
                        "\"centred\"?"));
  EXPECT_THAT(refusal("optimizer = { ftrl = { weight_decay = 1 } }"), HasSubstr("unknown key"));
  EXPECT_THAT(refusal("optimizer = { adam = { beta2 = 1.5 } }"), HasSubstr("must be in [0, 1)"));
  EXPECT_THAT(refusal("optimizer = { ftrl = { l1 = -1 } }"), HasSubstr("must not be negative"));
  EXPECT_THAT(refusal("optimizer = { lion = { learning_rate = 0 } }"), HasSubstr("above 0"));
}

}  // namespace
}  // namespace trireme::job
