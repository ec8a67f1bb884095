#pragma once

// Where the rows of one slot are: open addressing with linear probing over entries of 16 bytes, four
// to a cache line. Every slot has an index of its own, so growth moves the entries of one slot alone:
// at 10^7 rows 610 entries, about 10 microseconds; at 10^9 rows 61,000, about a millisecond. A slot's
// rows are found, copied and dropped without a look at others.

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

struct Entry {
  std::uint64_t hash;
  std::uint32_t row;
  std::uint16_t used;  // tick of the last use
  std::uint16_t flags;
};
static_assert(sizeof(Entry) == 16);

class SlotIndex {
 public:
  // nullptr if there is none.
  Entry* find(std::uint64_t hash) const {
    for (std::uint64_t i = hash & mask_;; i = (i + 1) & mask_) {
      Entry& entry = entries_[i];
      if (entry.row == kNoEntry) return nullptr;
      if (entry.hash == hash) return &entry;
    }
  }
  const Entry* home(std::uint64_t hash) const { return entries_ + (hash & mask_); }

  // The hash must not be there. Moves other entries when it grows. Errors: io, without effect.
  Entry* insert(std::uint64_t hash, IndexMemory& memory);
  void erase(Entry* entry);  // moves other entries, though none from before to behind `entry`
  void clear(IndexMemory& memory);

  std::uint32_t count() const { return count_; }
  // All places, of which those with kNoEntry are free.
  Entry* begin() const { return count_ == 0 ? nullptr : entries_; }
  Entry* end() const { return count_ == 0 ? nullptr : entries_ + mask_ + 1; }

 private:
  void grow(IndexMemory& memory);

  static Entry none_;  // what an empty slot searches; never written
  Entry* entries_ = &none_;
  std::uint32_t mask_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace trireme::distributed
