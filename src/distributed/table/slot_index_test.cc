// The index of a slot and its memory, against std::map.
#include "distributed/table/slot_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace trireme::distributed {
namespace {

TEST(SlotIndex, FindsWhatIsThereWhateverComesAndGoes) {
  std::mt19937_64 random(5);
  // The fewer bits, the more hashes have the same home; 0 and 2^64 - 1 are hashes, too.
  for (const std::uint64_t bits : {0x3full, 0xf00000000000003full, 0xfff0000000000000ull, ~0ull}) {
    IndexMemory memory;
    SlotIndex index;
    std::map<std::uint64_t, std::uint32_t> oracle;
    std::vector<std::uint64_t> known = {0, ~std::uint64_t{0}};
    for (std::uint32_t i = 0; i < 6000; ++i) {
      // Grows first, then shrinks, then both.
      const bool grow = i < 2000 ? i % 4 != 0 : i < 4000 ? i % 4 == 0 : i % 2 == 0;
      if (grow) known.push_back(random() & bits);
      const std::uint64_t hash = grow ? known.back() : known[random() % known.size()];
      IndexEntry* const entry = index.find(hash);
      const auto expected = oracle.find(hash);
      ASSERT_EQ(entry != nullptr, expected != oracle.end());
      if (entry != nullptr) {
        ASSERT_EQ(entry->row, expected->second);
      }
      if (grow && entry == nullptr) {
        index.insert(hash, memory)->row = i;
        oracle[hash] = i;
      } else if (!grow && entry != nullptr) {
        index.erase(entry);
        oracle.erase(hash);
      }
      ASSERT_EQ(index.count(), oracle.size());
    }
    for (const auto& [hash, row] : oracle) ASSERT_EQ(index.find(hash)->row, row);
    std::size_t used = 0;
    for (const IndexEntry& entry : index) used += entry.row != kNoEntry ? 1 : 0;
    EXPECT_EQ(used, oracle.size());
    index.clear(memory);
    EXPECT_EQ(memory.taken(), 0u);
    EXPECT_EQ(index.find(0), nullptr);
  }
}

TEST(IndexMemory, BlocksLieApartAndJoinUp) {
  std::mt19937_64 random(6);
  IndexMemory memory;
  std::map<std::byte*, std::size_t> blocks;
  for (int i = 0; i < 3000; ++i) {
    if (random() % 2 == 0 || blocks.empty()) {
      // Up to 8 MiB; blocks above a huge page are taken one by one.
      const std::size_t bytes = IndexMemory::kMin << random() % (i % 100 == 0 ? 18 : 13);
      std::byte* const block = memory.take(bytes);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % IndexMemory::kMin, 0u);
      const auto next = blocks.lower_bound(block);
      if (next != blocks.end()) {
        ASSERT_LE(block + bytes, next->first);
      }
      if (next != blocks.begin()) {
        ASSERT_LE(std::prev(next)->first + std::prev(next)->second, block);
      }
      block[0] = block[bytes - 1] = std::byte{1};
      blocks[block] = bytes;
    } else {
      auto block = blocks.lower_bound(blocks.begin()->first + random() % (1 << 21));
      if (block == blocks.end()) block = blocks.begin();
      memory.give_back(block->first, block->second);
      blocks.erase(block);
    }
  }
  std::size_t taken = 0;
  for (const auto& [block, bytes] : blocks) taken += bytes;
  EXPECT_EQ(memory.taken(), taken);
  for (const auto& [block, bytes] : blocks) memory.give_back(block, bytes);
  // All buddies have joined: the chunks that are there serve large blocks.
  std::byte* const whole = memory.take(kHugePage);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(whole) % kHugePage, 0u);
  memory.give_back(whole, kHugePage);
}

}  // namespace
}  // namespace trireme::distributed
