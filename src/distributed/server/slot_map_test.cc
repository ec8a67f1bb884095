#include "distributed/server/slot_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/testing/error.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

std::vector<int> shares(const SlotMap& map) {
  std::vector<int> counts(static_cast<std::size_t>(map.servers()));
  for (int slot = 0; slot < kSlots; ++slot) ++counts.at(static_cast<std::size_t>(map.owner(slot)));
  return counts;
}

int moved(const SlotMap& a, const SlotMap& b) {
  int count = 0;
  for (int slot = 0; slot < kSlots; ++slot) count += a.owner(slot) != b.owner(slot);
  return count;
}

void expect_balanced(const SlotMap& map, int servers) {
  ASSERT_EQ(map.servers(), servers);
  const std::vector<int> counts = shares(map);
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  EXPECT_LE(*most - *least, 1);
}

TEST(SlotMap, NobodyHasAnythingInTheFirst) {
  EXPECT_EQ(SlotMap().owner(0), -1);
  EXPECT_EQ(SlotMap().version(), 0u);
  EXPECT_EQ(moved(SlotMap().moved_to(3), SlotMap::balanced(3)), 0);
}

TEST(SlotMap, FourServersToThreeAndBack) {
  const SlotMap four = SlotMap::balanced(4, 7);
  const SlotMap three = four.moved_to(3);
  expect_balanced(three, 3);
  EXPECT_EQ(three.version(), 8u);
  EXPECT_EQ(moved(four, three), kSlots / 4);
  EXPECT_LE(moved(four, three), 0.26 * kSlots);
  const SlotMap again = three.moved_to(4);
  expect_balanced(again, 4);
  EXPECT_EQ(moved(three, again), kSlots / 4);
}

// The fewest moves: a server must give away its slots beyond the largest share, and missing slots
// must move to it.
TEST(SlotMap, MovesAsFewAsCanBe) {
  std::mt19937 random(3);
  SlotMap map = SlotMap::balanced(1);
  for (int i = 0; i < 60; ++i) {
    const int servers = 1 + static_cast<int>(random() % 40);
    const std::vector<int> before = shares(map);
    const SlotMap next = map.moved_to(servers);
    expect_balanced(next, servers);
    std::vector<int> has(before.begin(), before.end());
    has.resize(std::max(has.size(), static_cast<std::size_t>(servers)));
    int stay = 0;  // the most that may stay: servers with most slots get the larger shares
    std::vector<int> kept(has.begin(), has.begin() + servers);
    std::sort(kept.rbegin(), kept.rend());
    for (int s = 0; s < servers; ++s) {
      stay +=
          std::min(kept[static_cast<std::size_t>(s)], kSlots / servers + (s < kSlots % servers));
    }
    EXPECT_EQ(moved(map, next), kSlots - stay) << servers;
    EXPECT_EQ(next.version(), map.version() + 1);
    map = next;
  }
}

TEST(SlotMap, RangesMove) {
  const SlotMap map = SlotMap::balanced(2).moved(10, 20, 4);
  EXPECT_EQ(map.owner(9), 0);
  EXPECT_EQ(map.owner(10), 4);
  EXPECT_EQ(map.owner(19), 4);
  EXPECT_EQ(map.owner(20), 0);
  EXPECT_EQ(map.servers(), 5);
  EXPECT_EQ(map.version(), 2u);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { map.moved(5, 4, 0); }), HasSubstr("[5, 4)"));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { map.moved_to(0); }), HasSubstr("not 0"));
}

TEST(SlotMap, Bytes) {
  const SlotMap map = SlotMap::balanced(5, 9).moved_to(3);
  const std::string bytes = map.to_bytes();
  EXPECT_LE(bytes.size(), 65536u);
  EXPECT_EQ(SlotMap::from_bytes(bytes), map);
  EXPECT_EQ(SlotMap::from_bytes(SlotMap().to_bytes()), SlotMap());
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{4}, std::size_t{9}, std::size_t{1000}, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_NE(error_of(ErrorKind::data, [&] { SlotMap::from_bytes(damaged); }), "no error") << at;
  }
  EXPECT_THAT(error_of(ErrorKind::data, [&] { SlotMap::from_bytes(bytes.substr(1)); }),
              HasSubstr("bytes"));
}

}  // namespace
}  // namespace trireme::distributed
