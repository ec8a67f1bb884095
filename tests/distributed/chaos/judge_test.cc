#include "judge.h"

#include <gtest/gtest.h>

#include "program.h"

namespace trireme::chaos {
namespace {

constexpr std::int64_t kRecords = 2 * kBatch * kTaskBatches, kBatches = kRecords / kBatch;

class ChaosJudge : public ::testing::Test {
 protected:
  Verdict verdict(const std::string& mode) const {
    return judge(saved_, handed_, {.mode = mode, .epochs = 3, .max_trainers = 2});
  }
  void see(const std::string& name, const std::string& text) {
    handed_.see({.entry = {.key = "task/" + name, .value = text}});
  }
  // The records of the first task of the second epoch, which is handed out again.
  std::vector<std::int64_t> handed_out_again() {
    see("epoch", "2 begun");
    see("0000000000", "p 1 0 anna data");
    see("0000000000", "p 2 0 berta data");
    const std::vector<std::int64_t> order = records(kRecords).order(1);
    return {order.begin(), order.begin() + kRecords / 2};
  }

  Saved saved_{std::vector<double>(kRecords, 3), 3 * kBatches};
  HandOuts handed_{"task/"};
};

TEST_F(ChaosJudge, OnceInEachEpochIsRight) {
  for (const char* mode : {"asynchronous", "geo"}) EXPECT_TRUE(verdict(mode).kept(mode)) << mode;
  saved_.steps = 2 * kBatches;  // some with two batches, some with one
  for (const char* mode : {"synchronous", "all_reduce"}) {
    EXPECT_TRUE(verdict(mode).kept(mode)) << mode;
    EXPECT_EQ(verdict(mode).sum_error, 0) << mode;
  }
}

TEST_F(ChaosJudge, WhatIsLostIsWrongInAllModes) {
  saved_.rows[5] = 2;
  for (const char* mode : {"asynchronous", "geo", "synchronous", "all_reduce"}) {
    EXPECT_EQ(verdict(mode).lost, 1) << mode;
    EXPECT_FALSE(verdict(mode).kept(mode)) << mode;
  }
}

TEST_F(ChaosJudge, WhatIsCountedAgainIsWrongUnlessItsTaskWasHandedOutAgain) {
  const std::vector<std::int64_t> again = handed_out_again();
  for (const std::int64_t record : again) saved_.rows[static_cast<std::size_t>(record)] = 4;
  EXPECT_EQ(verdict("synchronous").doubled, kRecords / 2);
  EXPECT_TRUE(verdict("synchronous").kept("synchronous"));
  EXPECT_FALSE(verdict("asynchronous").kept("asynchronous"));
  EXPECT_FALSE(verdict("geo").kept("geo"));
  saved_.rows[static_cast<std::size_t>(again.front())] = 6;
  EXPECT_EQ(verdict("all_reduce").beyond, 1);
  EXPECT_FALSE(verdict("all_reduce").kept("all_reduce"));
}

TEST_F(ChaosJudge, WhatIsMissingIsDescribed) {
  for (const std::int64_t record : handed_out_again())
    saved_.rows[static_cast<std::size_t>(record)] = 1;
  EXPECT_EQ(described(saved_, {"geo", 3, 2}),
            (std::vector<std::string>{"32 records were counted -2 times",
                                      "32 records were counted +0 times",
                                      "too rarely: all records of the tasks 0 of epoch 2"}));
}

TEST_F(ChaosJudge, TheDenseParameterCountsToo) {
  saved_.steps = 3 * kBatches + 1;
  EXPECT_EQ(verdict("asynchronous").sum_error, 1);
  EXPECT_FALSE(verdict("asynchronous").kept("asynchronous"));
  EXPECT_EQ(verdict("synchronous").sum_error, 1);
  saved_.steps = static_cast<double>(3 * kBatches) / 2 - 1;  // more than two batches in a step
  EXPECT_EQ(verdict("synchronous").sum_error, -1);
}

}  // namespace
}  // namespace trireme::chaos
