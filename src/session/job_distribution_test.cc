// [distributed]: what a job says of many processes.

#include <gmock/gmock.h>

#include "base/error_test.h"
#include "trireme/job.h"

namespace trireme {
namespace {

using ::testing::AllOf;
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

}  // namespace
}  // namespace trireme
