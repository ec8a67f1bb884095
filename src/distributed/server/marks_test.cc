#include "distributed/server/marks.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace trireme::distributed {
namespace {

// Against a set of all that was seen.
TEST(Mark, KnowsWhatItSawAndTakesWhatIsOldForSeen) {
  std::mt19937 random(1);
  Mark mark;
  std::set<std::uint64_t> seen;
  std::uint64_t high = 0;
  EXPECT_TRUE(mark.has(0));
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t jump = random() % 100 == 0 ? 200 : 70;
    const std::uint64_t ahead = high + random() % jump;
    const std::uint64_t number = ahead > 66 ? ahead - 66 : 1;
    ASSERT_EQ(mark.has(number), seen.contains(number) || number + Mark::kWindow <= high) << number;
    mark.add(number);
    seen.insert(number);
    high = std::max(high, number);
    ASSERT_TRUE(mark.has(number));
    ASSERT_FALSE(mark.has(high + 1));
    ASSERT_EQ(Mark::of(mark.high(), mark.seen()), mark);
  }
}

TEST(Marks, AreOfASlotAndASource) {
  Marks marks(10);
  const Source sender{Source::Kind::sender, 4}, task{Source::Kind::task, 4};
  marks.of(sender)->add(100, 7);
  EXPECT_TRUE(marks.of(sender)->has(100, 7));
  EXPECT_FALSE(marks.of(sender)->has(100, 6));
  EXPECT_FALSE(marks.of(sender)->has(101, 7));
  EXPECT_FALSE(marks.of(task)->has(100, 7));
}

TEST(Marks, MoveWithTheirSlots) {
  Marks from(10), to(10);
  for (int slot = 0; slot < 300; ++slot) {
    from.of({Source::Kind::sender, 1})->add(slot, static_cast<std::uint64_t>(slot) + 1);
    from.of({Source::Kind::task, 2})->add(slot, 5);
  }
  to.of({Source::Kind::sender, 1})->add(150, 10000);  // out of date
  to.insert(from.read(100, 200));
  for (int slot = 0; slot < 300; ++slot) {
    const bool moved = slot >= 100 && slot < 200;
    EXPECT_EQ(to.of({Source::Kind::sender, 1})->has(slot, static_cast<std::uint64_t>(slot) + 1),
              moved);
    EXPECT_FALSE(to.of({Source::Kind::sender, 1})->has(slot, 5000));
    EXPECT_EQ(to.of({Source::Kind::task, 2})->has(slot, 5), moved);
  }
  to.drop(0, 150);
  EXPECT_FALSE(to.of({Source::Kind::task, 2})->has(149, 5));
  EXPECT_TRUE(to.of({Source::Kind::task, 2})->has(150, 5));
  EXPECT_EQ(to.read(0, kSlots).size(), 100u);
}

TEST(Marks, ForgetWhoHasNotPushedForLongest) {
  Marks marks(2);
  const auto sender = [](std::uint32_t number) { return Source{Source::Kind::sender, number}; };
  marks.of(sender(1))->add(0, 1);
  marks.of(sender(2))->add(0, 1);
  marks.of(sender(1));
  marks.of(sender(3));
  EXPECT_EQ(marks.sources(), 2u);
  EXPECT_EQ(marks.forgotten(), 1u);
  EXPECT_TRUE(marks.of(sender(1))->has(0, 1));
  EXPECT_FALSE(marks.of(sender(2))->has(0, 1));
}

}  // namespace
}  // namespace trireme::distributed
