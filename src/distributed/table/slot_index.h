#pragma once

// Where the rows of one slot are: a hash table of cache lines with four entries each, of which the
// first with a free place ends a search that began at an earlier one. Every slot has an index of
// its own, so growth moves the entries of one slot alone: 770 entries in 20 microseconds (a table
// of 10^7 rows), 49,000 in 0.8 ms (10^9), measured with cold caches at 2.5 GHz. A slot's rows are
// found, copied and dropped without a look at others.

#include <bit>
#include <cstdint>

#include "distributed/table/index_memory.h"
#include "distributed/table/slots.h"

namespace trireme::distributed {

// `row` is a number of RowPool or one of these.
inline constexpr std::uint32_t kNoEntry = 0xffffffffu;
inline constexpr std::uint32_t kOnDisk = 0xfffffffeu;
inline constexpr std::uint32_t kNotAdmitted = 0xfffffffdu;  // `flags` counts how often it was seen

// Flags of an entry that has a row.
inline constexpr std::uint16_t kMarkBits = 0x000f;    // changed, for each mark
inline constexpr std::uint16_t kReferenced = 0x0010;  // used since the clock's hand passed
inline constexpr std::uint16_t kDiskIsSame = 0x0020;  // the disk has the row as it is

struct IndexEntry {
  std::uint64_t hash;
  std::uint32_t row;
  std::uint16_t used;  // tick of the last use
  std::uint16_t flags;
};
static_assert(sizeof(IndexEntry) == 16);

class SlotIndex {
 public:
  // nullptr if there is none. The four places of a line are compared at once, without a branch for
  // each.
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
        if (entry.row != kNoEntry) return &entry;  // as a free place may have any hash
      }
      if (used == 0) return nullptr;
    }
  }
  const IndexEntry* home(std::uint64_t hash) const { return entries_ + (hash & mask_) * kLine; }

  // The hash must not be there. Moves other entries when it grows. Errors: io, without effect.
  IndexEntry* insert(std::uint64_t hash, IndexMemory& memory);
  void erase(IndexEntry* entry);  // moves other entries
  void clear(IndexMemory& memory);

  std::uint32_t count() const { return count_; }
  // All places, of which those with kNoEntry are free.
  IndexEntry* begin() const { return count_ == 0 ? nullptr : entries_; }
  IndexEntry* end() const { return count_ == 0 ? nullptr : entries_ + places(); }

 private:
  static constexpr unsigned kLine = 4;

  std::uint64_t places() const { return (mask_ + std::uint64_t{1}) * kLine; }
  IndexEntry* first_free(std::uint64_t hash) const;
  void grow(IndexMemory& memory);

  static IndexEntry none_[kLine];  // what an empty slot searches; never written
  IndexEntry* entries_ = none_;
  std::uint32_t mask_ = 0;  // of lines
  std::uint32_t count_ = 0;
};

}  // namespace trireme::distributed
