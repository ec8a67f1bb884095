// Blocks of rows, what changed, statistics and eviction.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "base/checksum.h"
#include "base/testing/error.h"
#include "distributed/table/testing/table.h"

namespace trireme::distributed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void train(SparseTable& table, unsigned seed, int steps, std::uint64_t different = 300) {
  Batches batches(seed);
  const auto width = static_cast<std::size_t>(table.options().width);
  for (int step = 1; step <= steps; ++step) {
    const std::vector<Id> ids = batches.ids(50, different);
    look_up(table, ids, Create::yes);
    table.update(ids, batches.floats(50 * width).data(), {.rate = 0.1, .step = step});
    table.count(ids, batches.floats(100, 0, 1).data());
    if (step % 5 == 0) table.tick();
  }
}

TEST(SparseTableBlocks, MoveATableWhole) {
  for (const bool float16 : {false, true}) {
    TableOptions options = small_options(RowRule::adam(), 7);
    options.float16 = float16;
    options.decay = 0.9;
    SparseTable table(options), other(options);
    train(table, 1, 20);
    const std::vector<RowBlock> blocks = all_blocks(table, {.rows = 3});
    for (const RowBlock& block : blocks) {
      EXPECT_LE(block.ids.size(), 3u);
      EXPECT_TRUE(std::is_sorted(block.ids.begin(), block.ids.end()));
      EXPECT_EQ(block.records.size(), block.ids.size() * table.row_bytes());
      for (const Id id : block.ids) EXPECT_EQ(slot_of(id), block.slot);
    }
    // Into another process, in another order and twice: the content is the same, bytes and digest.
    for (std::size_t i = blocks.size(); i-- > 0;) other.insert(blocks[i]);
    for (const RowBlock& block : blocks) other.insert(block);
    EXPECT_EQ(other.statistics().rows, table.statistics().rows);
    expect_same_blocks(all_blocks(other, {.rows = 3}), blocks);
    EXPECT_EQ(other.digest(), table.digest());
    // What follows is the same, too.
    for (int i = 0; i < 4; ++i) other.tick();
    train(table, 2, 4);
    train(other, 2, 4);
    EXPECT_EQ(other.digest(), table.digest());
    // The digest of parts adds up, and any change shows.
    EXPECT_EQ(table.digest(0, 100) + table.digest(100, 9000) + table.digest(9000, kSlots),
              table.digest());
    other.add_deltas(std::vector<Id>{0}, std::vector<float>{0, 0, 0, 0, 0, 0, 0.5f}.data());
    EXPECT_NE(other.digest(), table.digest());
  }
}

TEST(SparseTableBlocks, ComeInPagesOfAsManyRowsAsAreAskedFor) {
  SparseTable table(small_options(RowRule::adagrad(), 2));
  std::vector<Id> ids;  // of two slots
  for (std::uint64_t i = 0; i < 50; ++i) ids.push_back(id_of(((3 + i % 2) << 50) + 7 * i));
  look_up(table, ids, Create::yes);
  std::vector<std::vector<Id>> pages;
  ReadOptions options{.rows = 4, .max_rows = 9};
  const auto read = [&](int first) {
    pages.emplace_back();
    return table.read(first, 5, options, [&](const RowBlock& block) {
      pages.back().insert(pages.back().end(), block.ids.begin(), block.ids.end());
    });
  };
  EXPECT_FALSE(read(3));
  for (;;) {
    ASSERT_EQ(pages.back().size(), 9u);
    options.after = pages.back().back();
    if (read(slot_of(pages.back().back()))) break;
  }
  std::vector<Id> all;
  for (const std::vector<Id>& page : pages) all.insert(all.end(), page.begin(), page.end());
  std::sort(ids.begin(), ids.end(),
            [](Id a, Id b) { return std::pair(slot_of(a), a) < std::pair(slot_of(b), b); });
  EXPECT_EQ(all, ids);
  options = {.max_rows = 50};
  EXPECT_TRUE(read(3)) << "all, and no more";
}

TEST(SparseTableBlocks, AreTheRecordsOfTheFormat) {
  TableOptions options = small_options(RowRule::adagrad(), 2);
  options.initializer = RowInitializer::zeros();
  SparseTable table(options);
  for (int i = 0; i < 3; ++i) table.tick();
  const std::vector<Id> ids = {42};
  table.update(ids, std::vector<float>{2, -4}.data(), {.rate = 0.5});
  table.count(ids, std::vector<float>{10, 1}.data());
  table.tick();
  look_up(table, ids);
  const std::vector<RowBlock> blocks = all_blocks(table);
  ASSERT_EQ(blocks.size(), 1u);
  ASSERT_EQ(blocks[0].records.size(), 28u);
  float floats[6];
  std::uint16_t ticks[2];
  std::memcpy(floats, blocks[0].records.data(), sizeof floats);
  std::memcpy(ticks, blocks[0].records.data() + 24, sizeof ticks);
  EXPECT_THAT(floats, ElementsAre(-0.5f, 0.5f, 4, 16, 10, 1));
  EXPECT_THAT(ticks, ElementsAre(3, 4));
  std::string row(8, '\0');
  row[0] = 42;
  EXPECT_EQ(table.digest(), hash64(row + blocks[0].records.substr(0, 24)));
}

TEST(SparseTableBlocks, TellWhatChangedSinceAMark) {
  SparseTable table(small_options());
  train(table, 1, 20, 40);
  SparseTable copy(small_options());
  const auto apply = [&](int mark) {
    for (const RowBlock& block : all_blocks(table, {.changed = mark, .clear = mark})) {
      copy.insert(block);
    }
    copy.remove(table.take_removed(mark, 0, kSlots));
  };
  apply(1);
  EXPECT_EQ(copy.digest(), table.digest());
  EXPECT_THAT(all_blocks(table, {.changed = 1}), IsEmpty());
  EXPECT_EQ(ids_of(all_blocks(table, {.changed = 0})).size(), table.statistics().rows);
  // Reading is no change; updates, deltas, statistics and imports are.
  look_up(table, {0, 2, 3}, Create::yes);
  EXPECT_THAT(all_blocks(table, {.changed = 1}), IsEmpty());
  const std::vector<float> ones(5, 1);
  table.update(std::vector<Id>{2}, ones.data(), {.rate = 1});
  table.add_deltas(std::vector<Id>{3}, ones.data());
  table.count(std::vector<Id>{4}, ones.data());
  table.assign(std::vector<Id>{5}, ones.data());
  look_up(table, {Id{1} << 60}, Create::yes);
  EXPECT_THAT(ids_of(all_blocks(table, {.changed = 1})), ElementsAre(2, 3, 4, 5, Id{1} << 60));
  // Removals are reported once to each mark that was cleared before.
  table.remove(std::vector<Id>{2, 6, 7, Id{1} << 61});
  table.assign(std::vector<Id>{7}, ones.data());  // and is back
  EXPECT_THAT(table.take_removed(0, 0, kSlots), IsEmpty());
  EXPECT_THAT(table.take_removed(1, slot_of(6), slot_of(6) + 1), ElementsAre(6));
  EXPECT_THAT(table.take_removed(1, 0, kSlots), ElementsAre(2, 7));
  EXPECT_THAT(table.take_removed(1, 0, kSlots), IsEmpty());
  copy.remove(std::vector<Id>{2, 6, 7});
  apply(1);
  EXPECT_EQ(copy.digest(), table.digest());
}

TEST(SparseTableBlocks, DropWhatMovesAway) {
  SparseTable table(small_options()), low(small_options());
  train(table, 1, 10);
  const std::uint64_t rest = table.digest(8000, kSlots), moving = table.digest(0, 8000);
  table.read(0, 8000, {}, [&](RowBlock block) { low.insert(block); });
  table.drop(0, 8000);
  EXPECT_EQ(table.digest(), rest);
  EXPECT_EQ(low.digest(), moving);
  EXPECT_EQ(table.digest(0, 8000), 0u);
  EXPECT_THAT(table.take_removed(0, 0, kSlots), IsEmpty());
}

TEST(SparseTableBlocks, AreCheckedBeforeTheyGoIn) {
  SparseTable table(small_options()), wider(small_options(RowRule::adagrad(), 6));
  train(table, 1, 1);
  RowBlock block = all_blocks(table).front();
  EXPECT_THAT(error_of(ErrorKind::data, [&] { wider.insert(block); }),
              HasSubstr("another width, optimizer or storage"));
  const Id id = block.ids[0];
  block.ids[0] = id + 1;
  ASSERT_NE(slot_of(id + 1), block.slot);
  EXPECT_THAT(error_of(ErrorKind::data, [&] { table.insert(block); }),
              HasSubstr("which is of slot"));
  block.slot = kSlots;
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] {
                         block.ids.clear();
                         block.records.clear();
                         table.insert(block);
                       }),
              HasSubstr("slots [16384, 16385)"));
  EXPECT_EQ(wider.statistics().rows, 0u);
}

TEST(SparseTableBlocks, MarksAreClearedWithoutReading) {
  SparseTable table(small_options());
  train(table, 1, 5);
  EXPECT_FALSE(all_blocks(table, {.changed = 1}).empty());
  table.clear(1, 0, 8000);
  for (const RowBlock& block : all_blocks(table, {.changed = 1})) EXPECT_GE(block.slot, 8000);
  table.clear(1, 8000, kSlots);
  EXPECT_THAT(all_blocks(table, {.changed = 1}), IsEmpty());
  expect_same_blocks(all_blocks(table, {.changed = 2}), all_blocks(table));  // another mark stays
  const std::vector<Id> ids = {3, 4};
  table.update(ids, std::vector<float>(10, 1).data(), {.rate = 1});
  EXPECT_THAT(ids_of(all_blocks(table, {.changed = 1})), ElementsAre(3, 4));
  table.remove(ids);  // is reported from now on
  EXPECT_THAT(table.take_removed(1, 0, kSlots), ElementsAre(3, 4));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { table.clear(4, 0, 1); }), HasSubstr("marks 0 to 3"));
}

TEST(SparseTableBlocks, SayWhichIdsHaveARow) {
  TableOptions options = small_options();
  options.admission = 2;
  SparseTable table(options);
  look_up(table, {1, 2, 3}, Create::yes);
  look_up(table, {2, 3}, Create::yes);
  EXPECT_THAT(table.contains(std::vector<Id>{1, 2, 3, 4, 2}),
              ElementsAre(false, true, true, false, true));
}

TEST(SparseTableBlocks, KeepTheirAgeInATableThatGoesOnWithTheClock) {
  TableOptions options = small_options();
  options.decay = 0.5;
  SparseTable table(options), other(options);
  for (int i = 0; i < 7; ++i) table.tick();
  look_up(table, {1, 2}, Create::yes);
  table.count(std::vector<Id>{1, 2}, std::vector<float>{8, 0, 8, 0}.data());
  table.tick();
  for (const RowBlock& block : all_blocks(table)) other.insert(block);
  other.set_clock(table.clock());
  EXPECT_EQ(other.clock(), 8);
  for (SparseTable* one : {&table, &other}) {
    one->tick();  // 8 shows, two ticks ago, are 2
    EXPECT_EQ(one->evict({.show_weight = 1, .below = 1.9, .unused_for = 3}), 0u);
    EXPECT_EQ(one->evict({.show_weight = 1, .below = 2.1}), 2u);
  }
}

TEST(SparseTableEviction, GoesByScoreAndAge) {
  TableOptions options = small_options();
  options.decay = 0.5;
  options.admission = 2;
  SparseTable table(options);
  std::vector<Id> ids;
  std::vector<float> counts;
  for (Id id = 0; id < 100; ++id) {
    ids.push_back(id);
    counts.push_back(static_cast<float>(id));
    counts.push_back(id % 10 == 0 ? 5.0f : 0.0f);
  }
  look_up(table, ids, Create::yes);
  EXPECT_EQ(table.evict({.show_weight = 1, .below = 1e9}), 0u);
  EXPECT_EQ(table.statistics().not_admitted, 100u);
  look_up(table, ids, Create::yes);
  table.count(ids, counts.data());
  table.count(std::vector<Id>{777}, counts.data());  // not there: not counted
  table.tick();
  table.tick();  // scores are a quarter now
  look_up(table, {500}, Create::yes);
  all_blocks(table, {.clear = 0});
  // id / 4 + 10 * clicks / 4 < 10: id below 40, but for those with clicks
  EXPECT_EQ(table.evict({.show_weight = 1, .click_weight = 10, .below = 10}), 36u);
  const std::vector<Id> left = ids_of(all_blocks(table));
  EXPECT_EQ(left.size(), 64u);
  EXPECT_THAT(std::vector<Id>(left.begin(), left.begin() + 5), ElementsAre(0, 10, 20, 30, 40));
  EXPECT_EQ(table.take_removed(0, 0, kSlots).size(), 36u);
  // Used two ticks ago, or just now.
  EXPECT_EQ(table.evict({.unused_for = 3}), 0u);
  look_up(table, {10, 20});
  table.count(std::vector<Id>{99}, counts.data());
  EXPECT_EQ(table.evict({.unused_for = 2}), 61u);
  EXPECT_THAT(ids_of(all_blocks(table)), ElementsAre(10, 20, 99));
  EXPECT_EQ(table.statistics().not_admitted, 1u);  // 500
  for (int i = 0; i < 70000; ++i) table.tick();    // the clock goes round; 70000 - 65536 = 4464
  EXPECT_EQ(table.evict({.unused_for = 4465}), 0u);
  EXPECT_EQ(table.evict({.unused_for = 4464}), 3u);
  EXPECT_EQ(table.statistics().evicted, 36u + 61u + 3u);
  EXPECT_EQ(table.statistics().not_admitted, 0u);
}

}  // namespace
}  // namespace trireme::distributed
