#include "writers.h"

#include <gtest/gtest.h>

namespace trireme::chaos {
namespace {

class ChaosWriters : public ::testing::Test {
 protected:
  void say(const std::string& name, double later) {
    const auto time = WriterWatch::Steady::now().time_since_epoch();
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    EXPECT_TRUE(watch_.hear(
        name, "writes " + std::to_string(nanoseconds + static_cast<long long>(1e9 * later))));
  }
  WriterWatch watch_;
};

TEST_F(ChaosWriters, TheLastOneCounts) {
  EXPECT_FALSE(watch_.hear("trainer_0", "progress 1 2"));
  watch_.away({"master_0", "trainer_0", "server_0", "server_1"});
  say("trainer_0", -5);  // what it says of the time before
  watch_.back(WriterWatch::Steady::now());
  watch_.gone("server_1");
  say("master_0", 0.1);
  say("trainer_0", 0.4);
  say("trainer_9", 5);  // which has begun since
  EXPECT_TRUE(watch_.waits().empty());
  say("server_0", 0.2);
  ASSERT_EQ(watch_.waits().size(), 1u);
  EXPECT_NEAR(watch_.waits()[0], 0.4, 0.05);
}

TEST_F(ChaosWriters, WhoNeverSaysItCountsUntilItIsGivenUp) {
  watch_.away({"master_0", "trainer_0"});
  watch_.back(WriterWatch::Steady::now());
  say("master_0", 0.1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  watch_.give_up();
  ASSERT_EQ(watch_.waits().size(), 1u);
  EXPECT_GE(watch_.waits()[0], 0.02);
}

}  // namespace
}  // namespace trireme::chaos
