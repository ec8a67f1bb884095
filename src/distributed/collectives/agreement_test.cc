// Which member takes the state of which, case by case.
#include "distributed/collectives/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme::distributed {
namespace {

using ::testing::ElementsAre;

Standing member(std::int64_t committed, bool exchanged = false) {
  return {committed, 1, exchanged ? 1 : 0};
}
Standing newcomer(std::int64_t committed) { return {committed, 0, 0}; }

TEST(Agreement, SurvivorsThatAreEquallyFarGoOn) {
  const Agreement agreement = agree_on({member(7), member(7, true), member(7)});
  EXPECT_EQ(agreement.committed, 7);
  EXPECT_FALSE(agreement.anyone_needs());
}

TEST(Agreement, WhatOneHasCommittedAllCommitWhoHaveItsResults) {
  const Agreement agreement = agree_on({member(7, true), member(8), member(7, true)});
  EXPECT_EQ(agreement.committed, 8);
  EXPECT_EQ(agreement.source, 1);
  EXPECT_FALSE(agreement.anyone_needs());
}

TEST(Agreement, WhoHasNotTheResultsNeedsTheState) {
  EXPECT_THAT(agree_on({member(7), member(8), member(6, true)}).needs,
              ElementsAre(true, false, true));
}

TEST(Agreement, NewcomersTakeTheStateOfASurvivorHoweverFarTheyAre) {
  const Agreement agreement = agree_on({newcomer(100), member(7), member(8), newcomer(8)});
  EXPECT_EQ(agreement.committed, 8);
  EXPECT_EQ(agreement.source, 2);
  EXPECT_THAT(agreement.needs, ElementsAre(true, true, false, true));
}

TEST(Agreement, NewcomersAloneTakeTheStateOfTheFarthest) {
  const Agreement agreement = agree_on({newcomer(3), newcomer(5), newcomer(5)});
  EXPECT_EQ(agreement.committed, 5);
  EXPECT_EQ(agreement.source, 1);
  EXPECT_THAT(agreement.needs, ElementsAre(true, false, true));
}

TEST(Agreement, OneAloneNeedsNothing) {
  EXPECT_FALSE(agree_on({newcomer(0)}).anyone_needs());
  EXPECT_FALSE(agree_on({member(3)}).anyone_needs());
}

}  // namespace
}  // namespace trireme::distributed
