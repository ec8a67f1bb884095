#pragma once

// What changed in a table since it was last saved, for savings that may fail: changes since the
// last one that counted are known until the next one counts.

#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

#include "distributed/checkpoint/part.h"
#include "distributed/table/table.h"

namespace trireme::distributed::checkpoint {

using Slots = std::bitset<kSlots>;
// The ranges that the slots are, each of at most `max` slots and none across a multiple of it.
std::vector<SlotRange> ranges_of(const Slots& slots, int max);
// Errors: usage, for ranges that are none or overlap.
Slots slots_of(const std::vector<SlotRange>& ranges, const std::string& table);

// Two marks alternate. One marks changes since the last committed save. The other is cleared while
// rows are saved, and marks later changes. If this save is committed, the marks change roles.
class Changes {
 public:
  explicit Changes(std::array<int, 2> marks) : since_(marks[0]), next_(marks[1]) {}

  // Begins save number `id`, after `previous`. From `previous` follows whether the save before was
  // committed.
  void begin(SparseTable& table, std::int64_t id, std::int64_t previous);
  // Returns whether changes of this slot since `previous` are known.
  bool known(int slot) const { return known_[static_cast<std::size_t>(slot)]; }
  // Returns the ids in the slots that were removed since, sorted. A row that was created again
  // counts as changed.
  std::vector<Id> removed(const SparseTable& table, SlotRange slots) const;
  // Rows of the slots that changed since, or with `all` all rows; other calls of the table go on
  // meanwhile.
  void read(SparseTable& table, SlotRange slots, bool all,
            const std::function<void(RowBlock)>& take);
  // The slots' rows went to another server or came from there.
  void forget(SlotRange slots);

 private:
  int since_, next_;                    // marks
  std::int64_t counted_ = 0;            // the last saving that counted
  std::int64_t begun_ = 0;              // the last one begun
  Slots known_, read_;                  // slots that were in these
  std::vector<std::uint64_t> removed_;  // hashes of ids, since `counted_`
};

}  // namespace trireme::distributed::checkpoint
