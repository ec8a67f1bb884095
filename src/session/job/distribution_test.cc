// [distributed]: what a job says of many processes.

#include <gmock/gmock.h>

#include "base/testing/error.h"
#include "trireme/job.h"

namespace trireme {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Distribution distribution(const std::string& text) {
  return Job::parse(
             "[data]\ntrain = \"mnist/train\"\n[model]\nlayers = [{ linear = { units = 1 } }]\n"
             "[train]\nloss = \"mse\"\n[distributed]\n" +
                 text,
             "job.toml")
      .distribution();
}

std::string refused(const std::string& text) {
  return error_of(ErrorKind::data, [&] { distribution(text); });
}

TEST(JobDistribution, HowOldWhatAStepReadsMayBe) {
  Distribution how = distribution("mode = \"asynchronous\"\n");
  EXPECT_EQ(how.staleness, 0);
  EXPECT_FALSE(how.prefetch);
  how = distribution("mode = \"asynchronous\"\nstaleness = 3\nprefetch = true\n");
  EXPECT_EQ(how.staleness, 3);
  EXPECT_TRUE(how.prefetch);
  EXPECT_TRUE(distribution("mode = \"geo\"\nprefetch = true\nstaleness = 0\n").prefetch);
}

TEST(JobDistribution, Exports) {
  Distribution how = distribution("mode = \"asynchronous\"\n");
  EXPECT_EQ(how.export_seconds, 0);
  EXPECT_EQ(how.export_deltas, 24);
  how = distribution("mode = \"geo\"\nexport_seconds = 0.5\nexport_deltas = 0\n");
  EXPECT_EQ(how.export_seconds, 0.5);
  EXPECT_EQ(how.export_deltas, 0);
  EXPECT_EQ(distribution("export_seconds = 0\n").export_seconds, 0);
}

TEST(JobDistribution, ExportsThatCannotBe) {
  const std::string geo = "mode = \"geo\"\n";
  for (const char* value : {"-1", "1000001", "nan"}) {
    EXPECT_THAT(refused(geo + "export_seconds = " + value + "\n"),
                HasSubstr("export_seconds: must be 0 to 1,000,000"));
  }
  EXPECT_THAT(refused(geo + "export_deltas = -1\n"),
              HasSubstr("export_deltas: must be at least 0, but is -1"));
  EXPECT_THAT(refused(geo + "export_deltas = 1000001\n"),
              HasSubstr("export_deltas: must be 0 to 1,000,000"));
  EXPECT_THAT(refused("export_seconds = 5\n"),
              HasSubstr("export_seconds: is of modes with servers"));
  EXPECT_THAT(refused(geo + "checkpoint_seconds = 0\nexport_seconds = 5\n"),
              HasSubstr("export_seconds: needs checkpoint_seconds above 0"));
}

TEST(JobDistribution, MistakesAreNamed) {
  EXPECT_THAT(refused("mode = \"asynchronous\"\nstaleness = -1\n"),
              HasSubstr("staleness: must be at least 0, but is -1"));
  EXPECT_THAT(refused("mode = \"asynchronous\"\nstaleness = 1000001\n"),
              HasSubstr("staleness: must be 0 to 1,000,000"));
  EXPECT_THAT(refused("mode = \"synchronous\"\nstaleness = 2\n"),
              HasSubstr("staleness: is of mode = \"asynchronous\""));
  EXPECT_THAT(refused("mode = \"geo\"\nstaleness = 2\n"),
              HasSubstr("staleness: is of mode = \"asynchronous\""));
  EXPECT_THAT(refused("staleness = 2\n"), HasSubstr("staleness"));
  EXPECT_THAT(refused("prefetch = true\n"), HasSubstr("prefetch"));
  EXPECT_THAT(refused("mode = \"asynchronous\"\nprefetch = 1\n"), HasSubstr("prefetch"));
}

TEST(JobDistribution, WhichRowsGo) {
  EXPECT_EQ(distribution("mode = \"geo\"\n").eviction.unused_for, 0);
  const Distribution::Eviction how =
      distribution(
          "mode = \"geo\"\n[distributed.eviction]\nunused_for = 5\nbelow = 0.5\nshow_weight = 0.1\n"
          "click_weight = 2\ndecay = 0.9\nclicks = \"label\"\ntick_tasks = 12\n")
          .eviction;
  EXPECT_EQ(how.unused_for, 5);
  EXPECT_EQ(how.below, 0.5);
  EXPECT_EQ(how.show_weight, 0.1);
  EXPECT_EQ(how.click_weight, 2);
  EXPECT_EQ(how.decay, 0.9);
  EXPECT_EQ(how.clicks, "label");
  EXPECT_EQ(how.tick_tasks, 12);
}

TEST(JobDistribution, MistakesInWhichRowsGoAreNamed) {
  const auto wrong = [](const std::string& text) {
    return refused("mode = \"geo\"\n[distributed.eviction]\n" + text);
  };
  EXPECT_THAT(wrong("unused_for = 65535\n"),
              AllOf(HasSubstr("job.toml:10"), HasSubstr("unused_for: must be 0 to 65,534")));
  EXPECT_THAT(wrong("below = -1\n"), HasSubstr("below: must not be negative"));
  EXPECT_THAT(wrong("below = 1\ndecay = 0\n"), HasSubstr("decay: must be above 0"));
  EXPECT_THAT(wrong("decay = 0.5\n"), HasSubstr("decay: is of scores"));
  EXPECT_THAT(wrong("clicks = \"label\"\n"), HasSubstr("clicks: is of scores"));
  EXPECT_THAT(wrong("below = 1\nclick_weight = 1\n"), HasSubstr("click_weight: needs"));
  EXPECT_THAT(wrong("below = 1\nshow_weight = 0\n"), HasSubstr("score that is 0 for all rows"));
  EXPECT_THAT(wrong("unused = 1\n"), HasSubstr("unused_for"));
  EXPECT_THAT(refused("[distributed.eviction]\nunused_for = 1\n"), HasSubstr("eviction"));
}

TEST(JobDistribution, SettingsOfOtherModes) {
  EXPECT_THAT(refused("mode = \"synchronous\"\nprefetch = true\n"),
              AllOf(HasSubstr("job.toml:9"), HasSubstr("prefetch: is of mode = \"asynchronous\"")));
  EXPECT_THAT(refused("resume = true\ncheckpoint_seconds = 0\n"),
              AllOf(HasSubstr("job.toml:8"), HasSubstr("resume: needs the checkpoints")));
}

// A job whose [train] continues with `train`.
Job whole_job(const std::string& train, const std::string& mode, const std::string& more = "") {
  return Job::parse(
      "[data]\ntrain = \"mnist/train\"\nvalidation_split = 0.1\n[model]\n"
      "layers = [{ linear = { units = 1 } }]\n[train]\nloss = \"mse\"\n" +
          train + "[distributed]\nmode = \"" + mode + "\"\n" + more,
      "job.toml");
}

std::string not_by_many(const std::string& train, const std::string& mode,
                        const std::string& more = "") {
  const Job job = whole_job(train, mode, more);
  return error_of(ErrorKind::data, [&] { job.check_distributed(); });
}

TEST(JobDistribution, WhatManyProcessesCannotKeepToIsRefusedByLine) {
  for (const char* mode : {"all_reduce", "synchronous", "asynchronous", "geo"}) {
    EXPECT_THAT(not_by_many("early_stopping = { patience = 3 }\n", mode),
                AllOf(HasSubstr("job.toml:8: train.early_stopping: stops by what is measured"),
                      HasSubstr("hint")));
    EXPECT_THAT(not_by_many("schedule = { plateau = { patience = 2 } }\n", mode),
                AllOf(HasSubstr("job.toml:8: train.schedule: goes by what is measured"),
                      HasSubstr("hint")));
    EXPECT_THAT(not_by_many("epochs = 0\n", mode), HasSubstr("job.toml:8: train.epochs: must be"));
    EXPECT_THAT(not_by_many("", mode, "[checkpoint]\nbest = \"loss\"\n"),
                HasSubstr("job.toml:11: checkpoint.best: is found by"));
  }
  for (const char* mode : {"synchronous", "asynchronous", "geo"}) {
    EXPECT_THAT(not_by_many("accumulate = 2\n", mode),
                AllOf(HasSubstr("job.toml:8: train.accumulate: is not for parameter servers"),
                      HasSubstr("hint")));
    EXPECT_THAT(not_by_many("average = { window = { updates = 10 } }\n", mode),
                HasSubstr("job.toml:8: train.average: is not for parameter servers"));
    EXPECT_THAT(not_by_many("optimizer = { adamw = { learning_rate = 0.1 } }\n", mode),
                AllOf(HasSubstr("job.toml:8: train.optimizer: is none of parameter servers"),
                      HasSubstr("sgd, adagrad, adam and ftrl alone")));
    EXPECT_THAT(not_by_many("optimizer = { adam = { amsgrad = true } }\n", mode),
                AllOf(HasSubstr("job.toml:8: train.optimizer: has amsgrad"), HasSubstr("hint")));
  }
  EXPECT_THAT(not_by_many("clip = { global_norm = 1 }\n", "synchronous"),
              AllOf(HasSubstr("job.toml:8: train.clip: would be of the sum"), HasSubstr("hint")));
}

TEST(JobDistribution, WhatManyProcessesKeepToIsTaken) {
  const std::string penalties =
      "l1 = 0.1\nl2 = 0.1\nschedule = \"cosine\"\nmax_steps = 10\nprecision = \"bf16\"\n"
      "parameters = [{ match = \"*\", learning_rate = 2 }]\n"
      "optimizer = { adam = { weight_decay = 0.1 } }\n";
  const std::string clip = "clip = { value = 1, norm = 1, global_norm = 1 }\n";
  EXPECT_TRUE(
      whole_job(penalties + clip + "accumulate = 4\naverage = { exponential = { decay = 0.9 } }\n",
                "all_reduce")
          .check_distributed()
          .empty());
  EXPECT_TRUE(whole_job("optimizer = { adam = { amsgrad = true } }\n", "all_reduce")
                  .check_distributed()
                  .empty());
  EXPECT_TRUE(whole_job(penalties, "synchronous").check_distributed().empty());
  for (const char* mode : {"asynchronous", "geo"}) {
    EXPECT_TRUE(whole_job(penalties + clip, mode).check_distributed().empty());
  }
}

TEST(JobDistribution, WhatHasNoUseIsNamed) {
  const Job job = whole_job("evaluate_every = 10\n", "all_reduce",
                            "[output]\nrun = \"folder\"\n[checkpoint]\nkeep = 3\n");
  EXPECT_THAT(job.check_distributed(),
              ElementsAre("train.evaluate_every (job.toml:8)", "output.run (job.toml:12)",
                          "checkpoint (job.toml:13)"));
}

}  // namespace
}  // namespace trireme
