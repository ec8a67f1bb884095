// Many processes follow the settings of a job as one does, or refuse them; unused ones are named.

#include "launch.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kExamples = 3200, kBatch = 50;

class Settings : public Launch {
 protected:
  // All parameters are dense, with the initial values of one process.
  std::string settings_job(const std::string& train, const std::string& distributed,
                           const std::string& more = "") const {
    write(path("job.toml"),
          "[data]\ntrain = { synthetic_clicks = " + std::to_string(kExamples) +
              ", ids = 200 }\ntest = { synthetic_clicks = 1000, first = 1000000, ids = 200 }\n"
              "validation = { synthetic_clicks = 1000, first = 2000000, ids = 200 }\nbatch = " +
              std::to_string(kBatch) +
              "\n[model]\nname = \"deepfm\"\nwidth = 4\nhidden = [16]\n"
              "[train]\nloss = \"binary_cross_entropy\"\nmetrics = [\"log_loss\"]\nepochs = 2\n" +
              train + "[distributed]\ntask_batches = 4\ncheckpoint_seconds = 0\n" + distributed +
              more);
    return path("job.toml");
  }
  std::string trained(const std::string& words = "") {
    return succeeds(std::string(TRIREME_CLI) + " train -o alone " + path("job.toml") + words);
  }
  std::string launched(const std::string& processes, const std::string& words = "") {
    return succeeds(kLaunch + processes + " -o launched " + path("job.toml") + words);
  }
  std::string succeeds(const std::string& command) {
    const Outcome outcome = run_here(command);
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.output;
    return outcome.output;
  }
};

// l1 is small, because near 0 rounding decides about the sign.
constexpr const char* kPenalties =
    "l1 = 1e-4\nl2 = 1e-2\n"
    "parameters = [{ match = \"*.bias\", weight_decay = 0, learning_rate = 2 }, "
    "{ match = \"*/linear_0.weight\", frozen = true }]\n";

TEST_F(Settings, AveragesAccumulationAndLimitsByAllReduce) {
  settings_job(
      std::string("optimizer = { momentum = { learning_rate = 0.2, weight_decay = 1e-3 } }\n"
                  "accumulate = 2\nclip = { global_norm = 0.2 }\n"
                  "average = { exponential = { decay = 0.98 } }\n") +
          kPenalties,
      "");
  const double alone = number_behind(trained(), "test log_loss: ");
  const std::string said = launched("--trainers 1");
  EXPECT_NEAR(number_behind(said, "test log_loss: "), alone, 1e-4);
  EXPECT_GT(number_behind(said, "validation loss: "), 0);
  // The tested averages are saved, which differ from the parameters.
  Model model = load_model(path("launched"));
  const data::Dataset test =
      data::synthetic_clicks({.examples = 1000, .first = 1000000, .ids = 200});
  EXPECT_NEAR(evaluate(model, test.batch(500))["loss"], alone, 1e-4);
  const std::string last = launched("--trainers 1", " --set train.average.exponential.decay=0");
  EXPECT_GT(std::abs(number_behind(last, "test log_loss: ") - alone), 1e-3);
}

TEST_F(Settings, PenaltiesAndSingleParametersWithServers) {
  for (const char* mode : {"synchronous", "asynchronous", "geo"}) {
    const bool asynchronous = mode == std::string("asynchronous");
    settings_job(
        std::string("optimizer = { sgd = { learning_rate = 0.1, weight_decay = 1e-3 } }\n") +
            (mode == std::string("synchronous") ? "" : "clip = { global_norm = 0.2 }\n") +
            kPenalties,
        std::string("mode = \"") + mode + "\"\n" + (asynchronous ? "staleness = 1\n" : ""));
    const double alone = number_behind(trained(), "test log_loss: ");
    const std::string said = launched("--trainers 1 --servers 2");
    EXPECT_NEAR(number_behind(said, "test log_loss: "), alone, 1e-4) << mode;
    EXPECT_GT(number_behind(said, "validation loss: "), 0) << mode;
    const std::string without = launched(
        "--trainers 1 --servers 2", " --set train.l1=0 --set train.l2=0 --set train.parameters=[]");
    EXPECT_GT(std::abs(number_behind(without, "test log_loss: ") - alone), 1e-3) << mode;
  }
}

// The first batches of both epochs, which end within a task.
TEST_F(Settings, AsManyBatchesAsAreStepsOfOneProcess) {
  constexpr int kSteps = kExamples / kBatch + 21;
  const std::string steps = " --set train.max_steps=" + std::to_string(kSteps);
  const std::string examples = " " + std::to_string(kSteps * kBatch) + " examples";
  for (const std::string mode : {"all_reduce", "synchronous", "asynchronous", "geo"}) {
    settings_job(kAdagrad, "mode = \"" + mode + "\"\n");
    const std::string said =
        launched(mode == "all_reduce" ? "--trainers 2" : "--trainers 2 --servers 1", steps);
    EXPECT_THAT(said, HasSubstr(examples)) << mode;
  }
  settings_job(kAdagrad, "");
  const double alone = number_behind(trained(steps), "test log_loss: ");
  EXPECT_NEAR(number_behind(launched("--trainers 1", steps), "test log_loss: "), alone, 1e-4);
}

TEST_F(Settings, WhatHasNoUseIsNamed) {
  settings_job("evaluate_every = 5\n", "", "[output]\nrun = \"run\"\n[checkpoint]\nkeep = 1\n");
  const std::string said = launched("--trainers 1");
  EXPECT_THAT(said, HasSubstr("[launch] without use for many processes: train.evaluate_every "
                              "(job.toml:14), output.run (job.toml:19), checkpoint "
                              "(job.toml:20)\n"));
  EXPECT_FALSE(std::filesystem::exists(path("run")));
  settings_job("", "");
  EXPECT_THAT(launched("--trainers 1"), Not(HasSubstr("without use")));
}

TEST_F(Settings, WhatManyProcessesCannotKeepToIsRefusedAtOnce) {
  const auto refused = [&](const std::string& train, const std::string& distributed,
                           const std::string& servers) {
    const Outcome outcome =
        run_here(kLaunch + "--trainers 1 " + servers + settings_job(train, distributed));
    EXPECT_EQ(outcome.code, 3) << outcome.output;
    EXPECT_THAT(outcome.output, Not(HasSubstr("master_0")));
    return outcome.output;
  };
  EXPECT_THAT(refused("early_stopping = { patience = 2 }\n", "", ""),
              AllOf(HasSubstr("job.toml:14: train.early_stopping: stops by"), HasSubstr("hint")));
  EXPECT_THAT(refused("clip = { norm = 1 }\n", "mode = \"synchronous\"\n", "--servers 1 "),
              HasSubstr("job.toml:14: train.clip: would be of the sum"));
}

}  // namespace
}  // namespace trireme::testing
