#pragma once

// The private members of a SparseTable, for the files that implement it.

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string_view>

#include "distributed/table/batch.h"
#include "distributed/table/disk_tier.h"
#include "distributed/table/index_memory.h"
#include "distributed/table/initializer.h"
#include "distributed/table/row_pool.h"
#include "distributed/table/slot_index.h"
#include "distributed/table/table.h"

namespace trireme::distributed {

inline constexpr std::size_t kSlotsPerGroup = kSlots / kGroups;

// The data of one lock. All members but `spills` need the lock.
struct alignas(64) SlotGroup {
  std::mutex mutex;
  std::array<SlotIndex, kSlotsPerGroup> slots;  // slot s is slots[s / kGroups] of group s % kGroups
  RowPool::Free free;
  std::uint64_t rows = 0, on_disk = 0, not_admitted = 0, dropped = 0;
  std::atomic<std::uint64_t> spills{0};  // how often rows went to disk
  std::size_t hand = 0;                  // the slot where the clock continues
  struct Removed {
    std::uint64_t hash;
    std::uint16_t marks;
  };
  std::vector<Removed> removed;

  SlotIndex& slot(std::uint64_t hash) { return slots[place_in_group(hash)]; }
};

// Cold rows that a call needs, read before it takes locks.
struct Fetched {
  std::vector<std::uint64_t> hashes;  // ascending
  std::vector<std::string> records;
  std::array<std::uint64_t, kGroups> spills = {};  // of the groups, before the rows were read

  // Returns nullptr if it is missing or may be outdated.
  const std::string* find(std::uint64_t hash, const SlotGroup& group) const;
};

struct SparseTable::State {
  explicit State(const TableOptions& options);

  const TableOptions options;
  const RowLayout layout;
  const Initializer initializer;
  RowPool pool;
  IndexMemory index_memory;
  std::array<SlotGroup, kGroups> groups;
  std::atomic<std::uint16_t> now{0};
  std::atomic<std::uint16_t> cleared_marks{0};         // bits of all marks that were cleared so far
  std::atomic<std::int64_t> in_memory{0}, on_disk{0};  // rows
  std::atomic<unsigned> calls{0};
  std::atomic<std::uint64_t> evicted{0};  // rows
  std::mutex spilling;
  unsigned spill_hand = 0;  // the group whose rows go next; guarded by `spilling`
  std::unique_ptr<DiskTier> disk;

  SlotGroup& group_of(std::uint64_t hash) {
    return groups[static_cast<std::size_t>(group_of_hash(hash))];
  }
  // Calls body(group, its number) for all groups, each locked. The first group differs between
  // calls.
  template <class Body>
  void for_each_group(const Body& body) {
    const unsigned first = calls.fetch_add(1, std::memory_order_relaxed) * 23;
    for (unsigned i = 0; i < kGroups; ++i) {
      const unsigned number = (first + i) % kGroups;
      body(groups[number], static_cast<int>(number));
    }
  }

  // Rows; call these with the lock of the group. `change`: the caller will change the row.
  // Returns the number of the row of an entry that has one, and loads it from disk if necessary.
  std::uint32_t use(SlotGroup& group, IndexEntry& entry, bool change, const Fetched& fetched) {
    const std::uint16_t tick = now.load(std::memory_order_relaxed);
    if (entry.row == kOnDisk) bring_back(group, entry, fetched);
    std::uint16_t flags = entry.flags | kReferenced;
    if (change) flags = static_cast<std::uint16_t>((flags | kMarkBits) & ~kDiskIsSame);
    if (entry.used != tick) {
      entry.used = tick;
      flags &= static_cast<std::uint16_t>(~kDiskIsSame);
    }
    if (entry.flags != flags) entry.flags = flags;
    return entry.row;
  }
  // Returns the row of an id, or kNoEntry. Creates it if it is missing and `seen` plus the earlier
  // lookups reach the admission.
  std::uint32_t use_or_make(SlotGroup& group, std::uint64_t hash, unsigned seen, bool change,
                            const Fetched& fetched) {
    IndexEntry* const entry = group.slot(hash).find(hash);
    if (entry != nullptr && entry->row != kNotAdmitted) return use(group, *entry, change, fetched);
    return seen == 0 ? kNoEntry : make(group, hash, entry, seen);
  }
  std::uint32_t make(SlotGroup& group, std::uint64_t hash, IndexEntry* entry, unsigned seen);
  // Makes an entry with a new row, whose content is undefined except for its statistics.
  IndexEntry& make_row(SlotGroup& group, std::uint64_t hash, IndexEntry* entry);
  void bring_back(SlotGroup& group, IndexEntry& entry, const Fetched& fetched);
  void fill_initial(std::uint64_t hash, std::byte* row) const;
  // Removes the row and its entry. If it is on disk, the caller deletes the record.
  void erase(SlotGroup& group, SlotIndex& slot, IndexEntry& entry);

  std::uint64_t remove_from(SlotGroup& group, SlotIndex& slot,
                            std::span<const std::uint64_t> hashes);

  // Statistics, decayed to the present.
  RowStatistics decayed(RowStatistics statistics) const;

  // Records: docs/reference/formats/table.md.
  std::size_t record_bytes() const { return layout.bytes() + sizeof(RowStatistics); }
  void append_record(const IndexEntry& entry, std::string& to) const;  // of a row in memory
  void read_record(std::string_view record, std::uint32_t row) const;
  std::uint16_t used_in(std::string_view record) const;

  // Makes space for the rows that a call needs, and reads rows on disk. Call it without locks.
  // Errors: io, without effect.
  Fetched prepare(Batch& batch, bool create);
  std::size_t memory() const {
    return static_cast<std::size_t>(in_memory.load(std::memory_order_relaxed)) *
               pool.bytes_per_row() +
           index_memory.taken();
  }
  void make_room(std::size_t rows);
  std::size_t spill(SlotGroup& group, std::size_t rows);

  void check_slots(int first, int last) const;
  void read_piece(SlotGroup& group, std::span<const std::uint64_t> hashes,
                  const ReadOptions& options, RowBlock& block);
};

}  // namespace trireme::distributed
