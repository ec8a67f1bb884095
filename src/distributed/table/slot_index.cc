#include "distributed/table/slot_index.h"

#include <algorithm>
#include <new>

namespace trireme::distributed {

namespace {

constexpr IndexEntry kNone = {0, kNoEntry, 0, 0};

}  // namespace

alignas(IndexMemory::kMin) IndexEntry SlotIndex::none_[kLine] = {kNone, kNone, kNone, kNone};

IndexEntry* SlotIndex::first_free(std::uint64_t hash) const {
  for (std::uint64_t line = hash & mask_;; line = (line + 1) & mask_) {
    for (unsigned i = 0; i < kLine; ++i) {
      IndexEntry& entry = entries_[line * kLine + i];
      if (entry.row == kNoEntry) return &entry;
    }
  }
}

// At most three quarters full.
IndexEntry* SlotIndex::insert(std::uint64_t hash, IndexMemory& memory) {
  if (entries_ == none_ || (count_ + std::uint64_t{1}) * 4 > places() * 3) grow(memory);
  ++count_;
  IndexEntry* const entry = first_free(hash);
  entry->hash = hash;
  return entry;
}

void SlotIndex::grow(IndexMemory& memory) {
  const SlotIndex old = *this;
  const std::uint64_t wanted = entries_ == none_ ? kLine : old.places() * 2;
  entries_ = reinterpret_cast<IndexEntry*>(memory.take(wanted * sizeof(IndexEntry)));
  std::uninitialized_fill_n(entries_, wanted, kNone);
  mask_ = static_cast<std::uint32_t>(wanted / kLine - 1);
  if (old.entries_ == none_) return;
  for (std::uint64_t i = 0; i < old.places(); ++i) {
    const IndexEntry& entry = old.entries_[i];
    if (entry.row != kNoEntry) *first_free(entry.hash) = entry;
  }
  memory.give_back(reinterpret_cast<std::byte*>(old.entries_), old.places() * sizeof(IndexEntry));
}

// The gap is filled from a later line whose search would now end in the gap's, and so on until a
// line that had a free place before: Knuth, The Art of Computer Programming 3, algorithm 6.4R, for
// lines.
void SlotIndex::erase(IndexEntry* gap) {
  std::uint64_t gap_line = static_cast<std::uint64_t>(gap - entries_) / kLine;
  const auto full = [this](std::uint64_t line) {
    const IndexEntry* const place = entries_ + line * kLine;
    return std::none_of(place, place + kLine,
                        [](const IndexEntry& e) { return e.row == kNoEntry; });
  };
  bool more = full(gap_line);
  for (std::uint64_t line = (gap_line + 1) & mask_; more && line != gap_line;
       line = (line + 1) & mask_) {
    more = full(line);
    for (unsigned i = 0; i < kLine; ++i) {
      IndexEntry& entry = entries_[line * kLine + i];
      if (entry.row == kNoEntry) continue;
      const std::uint64_t home = entry.hash & mask_;
      if (((line - home) & mask_) < ((line - gap_line) & mask_)) continue;
      *gap = entry;
      gap = &entry;
      gap_line = line;
      break;
    }
  }
  *gap = kNone;
  --count_;
}

void SlotIndex::clear(IndexMemory& memory) {
  if (entries_ != none_) {
    memory.give_back(reinterpret_cast<std::byte*>(entries_), places() * sizeof(IndexEntry));
  }
  entries_ = none_;
  mask_ = count_ = 0;
}

}  // namespace trireme::distributed
