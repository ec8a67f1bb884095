// [distributed]: what a job says of many processes.

#include <gmock/gmock.h>

#include "base/error_test.h"
#include "trireme/job.h"

namespace trireme {
namespace {

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
              HasSubstr("exports are made with checkpoints, and checkpoint_seconds is 0"));
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

}  // namespace
}  // namespace trireme
