#pragma once

// The index of the rows of one slot: a hash table of cache lines with four entries each. A search
// ends at the first line with a free entry. Every slot has its own index, so growth moves only the
// entries of one slot: 770 entries in 20 microseconds (a table of 10^7 rows), 49,000 in 0.8 ms
// (10^9), measured with cold caches at 2.5 GHz. The rows of a slot are found, copied and dropped
// without access to others.

#include <bit>
#include <cstdint>

#include "distributed/table/index_memory.h"
#include "distributed/table/slots.h"

namespace trireme::distributed {

// `row` is a number of RowPool or one of these.
inline constexpr std::uint32_t kNoEntry = 0xffffffffu;
inline constexpr std::uint32_t kOnDisk = 0xfffffffeu;
inline constexpr std::uint32_t kNotAdmitted = 0xfffffffdu;  // `flags` counts its lookups

// Flags of an entry that has a row.
inline constexpr std::uint16_t kMarkBits = 0x000f;    // changed, for each mark
inline constexpr std::uint16_t kReferenced = 0x0010;  // used since the clock hand passed
inline constexpr std::uint16_t kDiskIsSame = 0x0020;  // the row on disk is up to date

struct IndexEntry {
  std::uint64_t hash;
  std::uint32_t row;
  std::uint16_t used;  // tick of the last use
  std::uint16_t flags;
};
static_assert(sizeof(IndexEntry) == 16);

class SlotIndex {
 public:
  // Returns nullptr if there is none. Compares the four entries of a line at once, without
  // branches.
  IndexEntry* find(std::uint64_t hash) const {
    for (std::uint64_t line = hash & mask_;; line = (line + 1) & mask_) {
      IndexEntry* const place = entries_ + line * kLine;
      unsigned same = 0, used = 1;
#pragma GCC unroll 4
      for (unsigned i = 0; i < kLine; ++i) {
        same |= static_cast<unsigned>(place[i].hash == hash) << i;
        used &= static_cast<unsigned>(place[i].row != kNoEntry);
      }
      for (; same != 0; same &= same - 1) {
        IndexEntry& entry = place[std::countr_zero(same)];
        if (entry.row != kNoEntry) return &entry;  // because a free entry may have any hash
      }
      if (used == 0) return nullptr;
    }
  }
  const IndexEntry* home(std::uint64_t hash) const { return entries_ + (hash & mask_) * kLine; }

  // Precondition: the hash is not in the index. Growth moves other entries. Errors: io, without
  // effect.
  IndexEntry* insert(std::uint64_t hash, IndexMemory& memory);
  void erase(IndexEntry* entry);  // moves other entries
  void clear(IndexMemory& memory);

  std::uint32_t count() const { return count_; }
  // All entries; those with kNoEntry are free.
  IndexEntry* begin() const { return count_ == 0 ? nullptr : entries_; }
  IndexEntry* end() const { return count_ == 0 ? nullptr : entries_ + places(); }

 private:
  static constexpr unsigned kLine = 4;

  std::uint64_t places() const { return (mask_ + std::uint64_t{1}) * kLine; }
  IndexEntry* first_free(std::uint64_t hash) const;
  void grow(IndexMemory& memory);

  static IndexEntry none_[kLine];  // the line that searches of an empty slot read; never written
  IndexEntry* entries_ = none_;
  std::uint32_t mask_ = 0;  // of lines
  std::uint32_t count_ = 0;
};

}  // namespace trireme::distributed
