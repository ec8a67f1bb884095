// Rows in blocks, for checkpoints, deltas and other servers.

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/checksum.h"
#include "base/error.h"
#include "distributed/table/state.h"

namespace trireme::distributed {
namespace {

std::uint16_t mark_bit(int mark) { return static_cast<std::uint16_t>(1u << mark); }

void check_mark(const std::string& table, std::optional<int> mark) {
  if (mark && (*mark < 0 || *mark >= kMarks)) {
    fail_usage(
        fmt::format("sparse table '{}' has marks 0 to {}, not {}", table, kMarks - 1, *mark));
  }
}

}  // namespace

void SparseTable::State::check_slots(int first, int last) const {
  if (first < 0 || last < first || last > kSlots) {
    fail_usage(fmt::format("sparse table '{}': slots [{}, {}) are not a range of [0, {})",
                           options.name, first, last, kSlots));
  }
}

// The rows that are still there, read with the lock held.
void SparseTable::State::read_piece(SlotGroup& group, std::span<const std::uint64_t> hashes,
                                    const ReadOptions& read, RowBlock& block) {
  const std::lock_guard lock(group.mutex);
  SlotIndex& slot = group.slots[static_cast<std::size_t>(block.slot) / kGroups];
  std::vector<IndexEntry*> entries;
  std::vector<std::uint64_t> cold;
  for (const std::uint64_t hash : hashes) {
    IndexEntry* const entry = slot.find(hash);
    if (entry == nullptr || entry->row == kNotAdmitted) continue;
    entries.push_back(entry);
    if (entry->row == kOnDisk) cold.push_back(hash);
  }
  std::sort(cold.begin(), cold.end());
  const std::vector<std::string> records =
      cold.empty() ? std::vector<std::string>() : disk->read(cold);
  for (IndexEntry* entry : entries) {
    block.ids.push_back(id_of(entry->hash));
    if (entry->row == kOnDisk) {
      const auto place = std::lower_bound(cold.begin(), cold.end(), entry->hash);
      block.records += records[static_cast<std::size_t>(place - cold.begin())];
    } else {
      append_record(*entry, block.records);
    }
    if (read.clear) entry->flags &= static_cast<std::uint16_t>(~mark_bit(*read.clear));
  }
}

bool SparseTable::read(int first, int last, const ReadOptions& options,
                       const std::function<void(RowBlock)>& take) {
  State& state = *state_;
  state.check_slots(first, last);
  check_mark(state.options.name, options.changed);
  check_mark(state.options.name, options.clear);
  if (options.rows == 0) fail_usage("a block of a sparse table must hold at least 1 row");
  if (options.clear) state.cleared_marks.fetch_or(mark_bit(*options.clear));
  const auto by_id = [](std::uint64_t a, std::uint64_t b) { return id_of(a) < id_of(b); };
  std::uint64_t left = options.max_rows;
  bool whole = true;
  std::vector<std::uint64_t> hashes;
  for (int slot = first; slot < last && whole; ++slot) {
    SlotGroup& group = state.groups[static_cast<std::size_t>(slot) % kGroups];
    hashes.clear();
    {
      const std::lock_guard lock(group.mutex);
      for (const IndexEntry& entry : group.slots[static_cast<std::size_t>(slot) / kGroups]) {
        if (entry.row == kNoEntry || entry.row == kNotAdmitted) continue;
        if (options.changed && (entry.flags & mark_bit(*options.changed)) == 0) continue;
        if (slot == first && options.after && id_of(entry.hash) <= *options.after) continue;
        hashes.push_back(entry.hash);
      }
    }
    if (hashes.size() > left) {
      whole = false;
      const auto end = hashes.begin() + static_cast<std::ptrdiff_t>(left);
      std::nth_element(hashes.begin(), end, hashes.end(), by_id);
      hashes.erase(end, hashes.end());
    }
    left -= hashes.size();
    std::sort(hashes.begin(), hashes.end(), by_id);
    for (std::size_t i = 0; i < hashes.size(); i += options.rows) {
      const std::size_t n = std::min(options.rows, hashes.size() - i);
      RowBlock block;
      block.slot = slot;
      block.ids.reserve(n);
      block.records.reserve(n * state.record_bytes());
      state.read_piece(group, {hashes.data() + i, n}, options, block);
      if (!block.ids.empty()) take(std::move(block));
    }
  }
  return whole;
}

void SparseTable::clear(int mark, int first, int last) {
  State& state = *state_;
  state.check_slots(first, last);
  check_mark(state.options.name, mark);
  const std::uint16_t bit = mark_bit(mark);
  state.cleared_marks.fetch_or(bit);
  for (int slot = first; slot < last; ++slot) {
    SlotGroup& group = state.groups[static_cast<std::size_t>(slot) % kGroups];
    const std::lock_guard lock(group.mutex);
    for (IndexEntry& entry : group.slots[static_cast<std::size_t>(slot) / kGroups]) {
      // Elsewhere the flags have another meaning.
      if (entry.row == kNoEntry || entry.row == kNotAdmitted) continue;
      entry.flags &= static_cast<std::uint16_t>(~bit);
    }
  }
}

std::vector<bool> SparseTable::contains(std::span<const Id> ids) const {
  std::vector<bool> there;
  there.reserve(ids.size());
  for (const Id id : ids) {
    const std::uint64_t hash = hash_of(id);
    SlotGroup& group = state_->group_of(hash);
    const std::lock_guard lock(group.mutex);
    const IndexEntry* const entry = group.slot(hash).find(hash);
    there.push_back(entry != nullptr && entry->row != kNotAdmitted);
  }
  return there;
}

std::vector<Id> SparseTable::take_removed(int mark, int first, int last) {
  State& state = *state_;
  state.check_slots(first, last);
  check_mark(state.options.name, mark);
  const std::uint16_t bit = mark_bit(mark);
  std::vector<Id> ids;
  for (SlotGroup& group : state.groups) {
    const std::lock_guard lock(group.mutex);
    std::erase_if(group.removed, [&](SlotGroup::Removed& removed) {
      const int slot = slot_of_hash(removed.hash);
      if ((removed.marks & bit) == 0 || slot < first || slot >= last) return false;
      ids.push_back(id_of(removed.hash));
      removed.marks &= static_cast<std::uint16_t>(~bit);
      return removed.marks == 0;
    });
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

void SparseTable::insert(const RowBlock& block) {
  State& state = *state_;
  const std::size_t bytes = state.record_bytes();
  state.check_slots(block.slot, block.slot + 1);
  if (block.records.size() != block.ids.size() * bytes) {
    fail_data(
        fmt::format("sparse table '{}': a block of {} rows has {} bytes instead of {} for each; "
                    "was it written with another width, optimizer or storage of weights?",
                    state.options.name, block.ids.size(), block.records.size(), bytes));
  }
  for (const Id id : block.ids) {
    if (slot_of(id) != block.slot) {
      fail_data(fmt::format("sparse table '{}': a block of slot {} has id {}, which is of slot {}",
                            state.options.name, block.slot, id, slot_of(id)));
    }
  }
  Batch& batch = Batch::of(block.ids);
  if (state.options.memory_limit != 0) state.prepare(batch, true);
  SlotGroup& group = state.groups[static_cast<std::size_t>(block.slot) % kGroups];
  const std::lock_guard lock(group.mutex);
  for (const BatchItem& item : batch.group(block.slot % kGroups)) {
    const std::string_view record(block.records.data() + item.position * bytes, bytes);
    IndexEntry* entry = group.slot(item.hash).find(item.hash);
    if (entry == nullptr || entry->row == kNotAdmitted) {
      entry = &state.make_row(group, item.hash, entry);
    } else {
      if (entry->row == kOnDisk) state.bring_back(group, *entry, {});
      entry->flags = kMarkBits | kReferenced;
    }
    state.read_record(record, entry->row);
    entry->used = state.used_in(record);
  }
}

void SparseTable::drop(int first, int last) {
  State& state = *state_;
  state.check_slots(first, last);
  for (int number = first; number < last; ++number) {
    SlotGroup& group = state.groups[static_cast<std::size_t>(number) % kGroups];
    const std::lock_guard lock(group.mutex);
    SlotIndex& slot = group.slots[static_cast<std::size_t>(number) / kGroups];
    if (state.disk != nullptr && slot.count() != 0) {
      const std::uint64_t from = static_cast<std::uint64_t>(number) << 50;
      state.disk->erase_range(from, from + ((std::uint64_t{1} << 50) - 1));
    }
    for (const IndexEntry& entry : slot) {
      if (entry.row == kNoEntry) continue;
      if (entry.row == kNotAdmitted) {
        --group.not_admitted;
        continue;
      }
      --group.rows;
      if (entry.row == kOnDisk) {
        --group.on_disk;
        state.on_disk.fetch_sub(1, std::memory_order_relaxed);
      } else {
        state.pool.give_back(group.free, entry.row);
        state.in_memory.fetch_sub(1, std::memory_order_relaxed);
      }
    }
    slot.clear(state.index_memory);
    // Another server now reports the removals of these slots.
    std::erase_if(group.removed, [&](const SlotGroup::Removed& removed) {
      return slot_of_hash(removed.hash) == number;
    });
  }
}

std::uint64_t digest_of(const RowBlock& block) {
  constexpr std::size_t kTicks = 4;  // bytes at the end of a record
  if (block.ids.empty()) return 0;
  const std::size_t bytes = block.records.size() / block.ids.size();
  std::uint64_t sum = 0;
  std::string row(sizeof(Id) + bytes - kTicks, '\0');
  for (std::size_t i = 0; i < block.ids.size(); ++i) {
    std::memcpy(row.data(), &block.ids[i], sizeof(Id));
    std::memcpy(row.data() + sizeof(Id), block.records.data() + i * bytes, bytes - kTicks);
    sum += hash64(row);
  }
  return sum;
}

std::uint64_t SparseTable::digest(int first, int last) {
  std::uint64_t sum = 0;
  read(first, last, {}, [&](const RowBlock& block) { sum += digest_of(block); });
  return sum;
}

}  // namespace trireme::distributed
