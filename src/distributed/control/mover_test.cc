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

}  // namespace
}  // namespace trireme::distributed
