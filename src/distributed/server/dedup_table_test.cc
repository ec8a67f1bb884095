#include "distributed/server/dedup_table.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace trireme::distributed {
namespace {

// Compared with a set of all seen numbers.
TEST(DedupWindow, KnowsWhatItSawAndTakesWhatIsOldForSeen) {
  std::mt19937 random(1);
  DedupWindow mark;
  std::set<std::uint64_t> seen;
  std::uint64_t high = 0;
  EXPECT_TRUE(mark.has(0));
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t jump = random() % 100 == 0 ? 200 : 70;
    const std::uint64_t ahead = high + random() % jump;
    const std::uint64_t number = ahead > 66 ? ahead - 66 : 1;
    ASSERT_EQ(mark.has(number), seen.contains(number) || number + DedupWindow::kWindow <= high)
        << number;
    mark.add(number);
    seen.insert(number);
    high = std::max(high, number);
    ASSERT_TRUE(mark.has(number));
    ASSERT_FALSE(mark.has(high + 1));
    ASSERT_EQ(DedupWindow::of(mark.high(), mark.seen()), mark);
  }
}

// Reports the marks of a push in one slot.
void add(DedupTable& marks, const Source& source, int slot, std::uint64_t number) {
  marks.of(source)->add(number, [slot](const auto& each) { each(slot); });
}
bool has(DedupTable& marks, const Source& source, int slot, std::uint64_t number) {
  return marks.of(source)->has(slot, number);
}
Source sender(std::uint32_t number) { return {Source::Kind::sender, number}; }
Source task(std::uint32_t number) { return {Source::Kind::task, number}; }

TEST(SlotSet, HasWhatWasAdded) {
  std::mt19937 random(2);
  for (const int count : {3, 500, 1024, 1025, 6000}) {
    SlotSet slots;
    std::set<int> expected;
    for (int i = 0; i < count; ++i) {
      const int slot = static_cast<int>(random() % kSlots);
      slots.add(slot);
      slots.add(slot);
      expected.insert(slot);
    }
    for (int slot = 0; slot < kSlots; ++slot) ASSERT_EQ(slots.has(slot), expected.contains(slot));
    EXPECT_LE(slots.bytes(), static_cast<std::size_t>(kSlots) / 8);
    slots.drop(4000, 9000);
    for (int slot = 0; slot < kSlots; ++slot) {
      ASSERT_EQ(slots.has(slot), expected.contains(slot) && (slot < 4000 || slot >= 9000));
    }
    EXPECT_FALSE(slots.empty() && count > 3);
    slots.drop(0, kSlots);
    EXPECT_TRUE(slots.empty());
  }
}

TEST(DedupTable, AreOfASlotAndASource) {
  DedupTable marks(10);
  add(marks, sender(4), 100, 7);
  EXPECT_TRUE(has(marks, sender(4), 100, 7));
  EXPECT_FALSE(has(marks, sender(4), 100, 6));
  EXPECT_FALSE(has(marks, sender(4), 101, 7));
  EXPECT_FALSE(has(marks, task(4), 100, 7));
  EXPECT_FALSE(marks.of(sender(4))->is_new(7));
  EXPECT_TRUE(marks.of(sender(4))->is_new(8));
}

// A source that starts push 100 knows that all but the last few before it are done.
TEST(DedupTable, WhatIsFarBehindIsDoneEverywhere) {
  DedupTable marks(10);
  for (std::uint64_t number = 1; number <= 100; ++number) add(marks, sender(1), 5, number);
  EXPECT_TRUE(has(marks, sender(1), 6, 36));
  EXPECT_FALSE(has(marks, sender(1), 6, 37));
  EXPECT_TRUE(has(marks, sender(1), 5, 37));
  EXPECT_FALSE(marks.of(sender(1))->is_new(36));
  // Another pass over all tasks begins when the previous one is over.
  add(marks, task(1), 5, number_of_batch(1, 15));
  add(marks, task(1), 5, number_of_batch(2, 0));
  EXPECT_TRUE(has(marks, task(1), 6, number_of_batch(1, 15)));
  EXPECT_FALSE(has(marks, task(1), 5, number_of_batch(2, 1)));
}

TEST(DedupTable, MoveWithTheirSlots) {
  DedupTable from(10), to(10);
  for (int slot = 0; slot < 300; ++slot) {
    add(from, sender(1), slot, 200 + static_cast<std::uint64_t>(slot) % 40);
    add(from, task(2), slot, 5);
  }
  add(to, sender(1), 150, 190);  // out of date
  to.insert(from.read(100, 200));
  for (int slot = 0; slot < 300; ++slot) {
    const bool moved = slot >= 100 && slot < 200;
    const std::uint64_t number = 200 + static_cast<std::uint64_t>(slot) % 40;
    EXPECT_EQ(has(to, sender(1), slot, number), moved);
    EXPECT_FALSE(has(to, sender(1), slot, 240));
    EXPECT_EQ(has(to, task(2), slot, 5), moved);
  }
  EXPECT_TRUE(has(to, sender(1), 7, 239 - 64)) << "of all slots";
  to.drop(0, 150);
  EXPECT_FALSE(has(to, task(2), 149, 5));
  EXPECT_TRUE(has(to, task(2), 150, 5));
  int entries = 0;
  for (const DedupEntry& entry : to.read(0, kSlots)) {
    entries += entry.slot != DedupEntry::kNoSlot && entry.kind == 1 ? 1 : 0;
  }
  EXPECT_EQ(entries, 50);
}

// A slot moves between servers while pushes continue; compared with a set of all applied pushes.
TEST(DedupTable, KnowOfEachSlotWhatWasApplied) {
  std::mt19937 random(5);
  DedupTable servers[2] = {DedupTable(10), DedupTable(10)};
  int owner[8] = {};
  std::set<std::pair<int, std::uint64_t>> applied;
  std::uint64_t newest = 1;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 50 == 0) {
      const int slot = static_cast<int>(random() % 8);
      DedupTable &from = servers[owner[slot]], &to = servers[1 - owner[slot]];
      to.drop(slot, slot + 1);
      to.insert(from.read(slot, slot + 1));
      from.drop(slot, slot + 1);
      owner[slot] = 1 - owner[slot];
    }
    if (random() % 4 == 0) ++newest;
    const std::uint64_t number = newest - std::min<std::uint64_t>(newest - 1, random() % 60);
    const int slot = static_cast<int>(random() % 8);
    ASSERT_EQ(has(servers[owner[slot]], task(3), slot, number), applied.contains({slot, number}));
    add(servers[owner[slot]], task(3), slot, number);
    applied.emplace(slot, number);
  }
}

TEST(DedupTable, ForgetWhoHasNotPushedForLongest) {
  DedupTable marks(2);
  add(marks, sender(1), 0, 1);
  add(marks, sender(2), 0, 1);
  marks.of(sender(1));
  marks.of(sender(3));
  EXPECT_EQ(marks.sources(), 2u);
  EXPECT_EQ(marks.forgotten(), 1u);
  EXPECT_TRUE(has(marks, sender(1), 0, 1));
  EXPECT_FALSE(has(marks, sender(2), 0, 1));
}

// Tasks of 16 batches, each of which touches nearly all slots.
TEST(DedupTable, TakeLittleAndNeverMoreThanTheyMay) {
  constexpr std::uint64_t kMax = 4 << 20;
  DedupTable marks(4096, kMax);
  std::uint64_t largest = 0;
  for (std::uint32_t number = 0; number < 300; ++number) {
    for (std::uint32_t batch = 0; batch < 16; ++batch) {
      marks.of(task(number))->add(number_of_batch(1, batch), [](const auto& each) {
        for (int slot = 0; slot < kSlots; slot += 2) each(slot);
      });
    }
    if (number == 0) {
      EXPECT_LT(marks.memory(), 40u << 10);
    }
    largest = std::max(largest, marks.memory());
  }
  EXPECT_LE(largest, kMax + (40 << 10));
  EXPECT_GT(marks.sources(), 90u);
  EXPECT_EQ(marks.forgotten() + marks.sources(), 300u);
  EXPECT_TRUE(has(marks, task(299), 2, number_of_batch(1, 15)));
  marks.forget({2, {}});
  EXPECT_EQ(marks.sources(), 0u);
  EXPECT_EQ(marks.memory(), 0u);
}

TEST(TasksOver, AreKnownByRanges) {
  const TasksOver over{3, {{2, 5}, {7, 8}}};
  EXPECT_EQ(over.tasks(), 4u);
  for (std::uint32_t number = 0; number < 10; ++number) {
    const bool here = (number >= 2 && number < 5) || number == 7;
    EXPECT_EQ(over.has(task(number), number_of_batch(3, 9)), here) << number;
    EXPECT_EQ(over.has({Source::Kind::count_of_task, number}, number_of_batch(3, 0)), here);
    EXPECT_TRUE(over.has(task(number), number_of_batch(2, UINT32_MAX)));
    EXPECT_FALSE(over.has(task(number), number_of_batch(4, 0)));
    EXPECT_FALSE(over.has(sender(number), number_of_batch(2, 0)));
  }
  EXPECT_FALSE(TasksOver().has(task(0), number_of_batch(0, 0)));
  DedupTable marks(10);
  for (std::uint32_t number = 0; number < 10; ++number) {
    add(marks, task(number), 1, number_of_batch(3, 4));
  }
  marks.forget(over);
  EXPECT_EQ(marks.sources(), 6u);
  EXPECT_TRUE(has(marks, task(5), 1, number_of_batch(3, 4)));
}

TEST(TasksOver, AreHeldAgainstWhatWasBegun) {
  DedupTable marks(100);
  WholeDedupTable whole(100);
  const auto push = [&](Source::Kind kind, std::uint32_t number, std::uint64_t batch) {
    marks.of({kind, number})->add(batch, [](const auto& each) { each(7); });
    whole.add({kind, number}, batch);
  };
  const auto begun = [](const auto& all, const TasksOver& over) {
    std::set<TaskOf> tasks;
    all.add_begun(over, tasks);
    return tasks;
  };
  push(Source::Kind::task, 3, number_of_batch(1, 0));
  push(Source::Kind::task, 3, number_of_batch(2, 0));
  push(Source::Kind::count_of_task, 4, number_of_batch(2, 1));
  push(Source::Kind::task, 5, number_of_batch(1, 1));
  push(Source::Kind::sender, 9, 1);
  const std::set<TaskOf> two = {{2, 3}, {2, 4}};
  EXPECT_EQ(begun(marks, {2, {}}), two);
  EXPECT_EQ(begun(whole, {2, {}}), two);
  const std::set<TaskOf> one = {{2, 3}};
  EXPECT_EQ(begun(marks, {2, {{4, 6}}}), one);
  EXPECT_EQ(begun(whole, {2, {{4, 6}}}), one);
  EXPECT_TRUE(begun(marks, {2, {{3, 6}}}).empty());
  EXPECT_TRUE(begun(whole, {3, {}}).empty());
  const std::set<TaskOf> all = {{1, 5}, {2, 3}, {2, 4}};
  EXPECT_EQ(begun(marks, {1, {{3, 4}}}), all);
}

// Of a block: as of one slot.
TEST(WholeDedupTable, KnowTheSameAsMarksOfASlot) {
  std::mt19937 random(7);
  DedupTable slots(1000);
  WholeDedupTable whole(1000);
  for (int i = 0; i < 5000; ++i) {
    const Source source{static_cast<Source::Kind>(random() % 2),
                        static_cast<std::uint32_t>(random() % 40)};
    const std::uint64_t number = static_cast<std::uint64_t>(i) / 10 + random() % 60 + 1;
    ASSERT_EQ(whole.has(source, number), has(slots, source, 0, number));
    add(slots, source, 0, number);
    whole.add(source, number);
    if (i % 500 == 0) whole.assign(whole.read());
  }
  EXPECT_EQ(whole.sources(), 80u);
  EXPECT_LE(whole.memory(), 80u * 64);
  whole.forget({1, {}});
  EXPECT_EQ(whole.sources(), 40u) << "senders are never over";
}

TEST(WholeDedupTable, ForgetWhoHasNotPushedForLongest) {
  WholeDedupTable marks(2);
  marks.add(task(1), 1);
  marks.add(task(2), 1);
  marks.add(task(1), 2);
  marks.add(task(3), 1);
  EXPECT_TRUE(marks.has(task(1), 1));
  EXPECT_FALSE(marks.has(task(2), 1));
  EXPECT_TRUE(marks.has(task(3), 1));
}

}  // namespace
}  // namespace trireme::distributed
