#include "group_watch.h"

#include <gtest/gtest.h>

#include <thread>

namespace trireme::chaos {
namespace {

using Steady = GroupWatch::Steady;

class ChaosGroupWatch : public ::testing::Test {
 protected:
  static long long later(double seconds) {
    const auto time = Steady::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count() +
           static_cast<long long>(1e9 * seconds);
  }
  void say_group(const std::string& name, int generation, int size, long long time) {
    EXPECT_TRUE(watch_.hear(name, "group " + std::to_string(generation) + " " +
                                      std::to_string(size) + " " + std::to_string(time)));
  }
  void say_broken(const std::string& name, long long time) {
    EXPECT_TRUE(watch_.hear(name, "broken " + std::to_string(time)));
  }
  // The single measurement.
  double waited(const std::string& what) {
    const auto waits = watch_.waits();
    const auto found = waits.find("kill member: all others " + what);
    EXPECT_TRUE(found != waits.end() && found->second.size() == 1) << what;
    return found == waits.end() ? -1 : found->second.at(0);
  }

  GroupWatch watch_{3};
};

TEST_F(ChaosGroupWatch, TheLastOneCounts) {
  EXPECT_FALSE(watch_.hear("a", "progress 1"));
  for (const char* name : {"a", "b", "c"}) say_group(name, 1, 3, 0);
  EXPECT_TRUE(watch_.whole());
  watch_.hit("b");
  EXPECT_FALSE(watch_.whole());
  say_broken("a", later(0.05));
  say_group("a", 2, 2, later(0.1));
  EXPECT_TRUE(watch_.waits().empty());
  say_broken("c", later(0.3));
  say_group("c", 2, 2, later(0.7));
  EXPECT_NEAR(waited("know"), 0.3, 0.05);
  EXPECT_NEAR(waited("are a group"), 0.7, 0.05);
}

TEST_F(ChaosGroupWatch, WhatIsNeverSaidIsNoShorterThanItTook) {
  for (const char* name : {"a", "b", "c"}) say_group(name, 1, 3, 0);
  watch_.hit("b");
  say_broken("a", later(0.01));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  watch_.give_up();
  EXPECT_GE(waited("know"), 0.03);
  EXPECT_GE(waited("are a group"), 0.03);
  watch_.give_up();
  EXPECT_GE(waited("know"), 0.03);
}

TEST_F(ChaosGroupWatch, OnlyAWholeGroupIsMeasured) {
  say_group("a", 1, 3, 0);
  say_group("b", 1, 3, 0);
  watch_.hit("b");
  say_broken("a", later(0.01));
  say_group("a", 2, 1, later(0.02));
  EXPECT_TRUE(watch_.waits().empty());
}

}  // namespace
}  // namespace trireme::chaos
