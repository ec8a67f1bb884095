#include "distributed/control/mover.h"

#include <gtest/gtest.h>

namespace trireme::distributed {
namespace {

// A checkpoint of less could not be gone back to: trainers declare while it is written, as when they begin.
TEST(Mover, KnowsWhetherAllServersHaveAll) {
  DenseDeclaration dense;
  dense.name = "w";
  dense.rows = 2;
  dense.columns = 1;
  const Declarations first{{{0, "table"}}, {{3, to_bytes(dense)}}, {{3, {0}}}};
  EXPECT_TRUE(together({first, {{{0, "table"}}, {{3, to_bytes(dense)}}, {}}}).whole);
  EXPECT_FALSE(together({first, {}}).whole) << "a table is at one server";
  EXPECT_FALSE(together({{{}, {{3, to_bytes(dense)}}, {}}}).whole) << "no server has the block";
  const Declarations other{{{1, "other"}}, {}, {}};
  EXPECT_FALSE(together({first, other}).whole) << "each has one that the other has not";
  EXPECT_TRUE(together({{}, {}}).whole);
}

TEST(Mover, MovesAsMuchAsThePauseAllows) {
  constexpr std::uint64_t kMost = 64000;
  EXPECT_EQ(next_bytes(16000, 0.05, kMost), 8000U)
      << "half of what took twice as long as it should";
  EXPECT_EQ(next_bytes(16000, 0.02, kMost), 20000U);
  EXPECT_EQ(next_bytes(16000, 0.001, kMost), 32000U) << "no more than twice as much";
  EXPECT_EQ(next_bytes(16000, 0, kMost), 32000U);
  EXPECT_EQ(next_bytes(60000, 0.02, kMost), kMost);
  EXPECT_EQ(next_bytes(16000, 10, kMost), 1001U) << "moves go on, however long one took";
  EXPECT_EQ(next_bytes(0, 0.01, 0), 1U);
}

}  // namespace
}  // namespace trireme::distributed
