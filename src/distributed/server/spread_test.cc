#include "distributed/server/spread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace trireme::distributed {
namespace {

using ::testing::ElementsAre;

TEST(Spread, BlocksAreWholeRows) {
  const auto blocks = cut_into_blocks(3, 1000, 200);  // 800 bytes a row, 327 rows a block
  ASSERT_EQ(blocks.size(), 4u);
  std::int64_t next = 0;
  for (const DenseBlockPlace& block : blocks) {
    EXPECT_EQ(block.parameter, 3u);
    EXPECT_EQ(block.first, next);
    EXPECT_LE(block.bytes, kBlockBytes);
    EXPECT_EQ(block.bytes, static_cast<std::uint64_t>(block.last - block.first) * 800);
    next = block.last;
  }
  EXPECT_EQ(next, 1000);
  EXPECT_EQ(cut_into_blocks(0, 2, 1000000).size(), 2u);  // rows are never cut
  EXPECT_TRUE(cut_into_blocks(0, 0, 5).empty());
}

std::vector<DenseBlockPlace> of_sizes(const std::vector<std::uint64_t>& sizes) {
  std::vector<DenseBlockPlace> blocks;
  for (const std::uint64_t size : sizes) {
    blocks.push_back({static_cast<std::uint32_t>(blocks.size()), 0, 0, 1, size});
  }
  return blocks;
}

TEST(Spread, BySizeRoundRobinAndHash) {
  const auto blocks = of_sizes({10, 70, 20, 30, 40, 50});
  EXPECT_THAT(spread_by_size(blocks, 2), ElementsAre(0, 0, 1, 0, 1, 1));  // 110 each
  EXPECT_THAT(spread_round_robin(blocks, 4), ElementsAre(0, 1, 2, 3, 0, 1));
  const std::vector<int> all = spread_by_hash(blocks, 3);
  EXPECT_EQ(spread_by_hash({blocks[4]}, 3), std::vector<int>{all[4]});
  const auto many = of_sizes(std::vector<std::uint64_t>(3000, 1));
  const std::vector<int> places = spread_by_hash(many, 3);
  for (int server = 0; server < 3; ++server) {
    EXPECT_NEAR(static_cast<double>(std::count(places.begin(), places.end(), server)), 1000, 120);
  }
}

}  // namespace
}  // namespace trireme::distributed
