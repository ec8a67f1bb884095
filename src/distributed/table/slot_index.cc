#include "distributed/table/slot_index.h"

#include <algorithm>
#include <new>

namespace trireme::distributed {

Entry SlotIndex::none_ = {0, kNoEntry, 0, 0};

Entry* SlotIndex::insert(std::uint64_t hash, IndexMemory& memory) {
  // At most three quarters full: a search that fails looks at 8.5 places at most on average.
  if (entries_ == &none_ || (count_ + 1) * std::uint64_t{4} > (mask_ + std::uint64_t{1}) * 3) {
    grow(memory);
  }
  std::uint64_t i = hash & mask_;
  while (entries_[i].row != kNoEntry) i = (i + 1) & mask_;
  ++count_;
  entries_[i].hash = hash;
  return &entries_[i];
}

void SlotIndex::grow(IndexMemory& memory) {
  const std::uint64_t old_places = entries_ == &none_ ? 0 : mask_ + std::uint64_t{1};
  const std::uint64_t places = std::max<std::uint64_t>(4, old_places * 2);
  auto* const entries = reinterpret_cast<Entry*>(memory.take(places * sizeof(Entry)));
  std::uninitialized_fill_n(entries, places, none_);
  const std::uint64_t mask = places - 1;
  for (std::uint64_t old = 0; old < old_places; ++old) {
    if (entries_[old].row == kNoEntry) continue;
    std::uint64_t i = entries_[old].hash & mask;
    while (entries[i].row != kNoEntry) i = (i + 1) & mask;
    entries[i] = entries_[old];
  }
  if (old_places != 0) {
    memory.give_back(reinterpret_cast<std::byte*>(entries_), old_places * sizeof(Entry));
  }
  entries_ = entries;
  mask_ = static_cast<std::uint32_t>(mask);
}

// What follows is moved up where its search would otherwise end at the gap: Knuth, The Art of
// Computer Programming 3, algorithm 6.4R.
void SlotIndex::erase(Entry* entry) {
  std::uint64_t gap = static_cast<std::uint64_t>(entry - entries_);
  for (std::uint64_t i = (gap + 1) & mask_; entries_[i].row != kNoEntry; i = (i + 1) & mask_) {
    const std::uint64_t home = entries_[i].hash & mask_;
    if (((i - home) & mask_) < ((i - gap) & mask_)) continue;  // its home lies behind the gap
    entries_[gap] = entries_[i];
    gap = i;
  }
  entries_[gap] = none_;
  --count_;
}

void SlotIndex::clear(IndexMemory& memory) {
  if (entries_ != &none_) {
    memory.give_back(reinterpret_cast<std::byte*>(entries_),
                     (mask_ + std::size_t{1}) * sizeof(Entry));
  }
  entries_ = &none_;
  mask_ = count_ = 0;
}

}  // namespace trireme::distributed
