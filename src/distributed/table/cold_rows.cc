// Rows that move to disk and back, so that memory stays below its limit.
//
// Which go: a clock (Corbato 1968) goes round the groups and their slots. A row used since the hand
// last passed is spared once.

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "distributed/table/state.h"

namespace trireme::distributed {
namespace {

constexpr std::size_t kMaxSpilled = 4096;  // rows in one write, for which a lock is held

}  // namespace

const std::string* Fetched::find(std::uint64_t hash, const SlotGroup& group) const {
  const auto place = std::lower_bound(hashes.begin(), hashes.end(), hash);
  if (place == hashes.end() || *place != hash) return nullptr;
  if (group.spills.load(std::memory_order_relaxed) !=
      spills[static_cast<std::size_t>(group_of_hash(hash))]) {
    return nullptr;
  }
  const std::string& record = records[static_cast<std::size_t>(place - hashes.begin())];
  return record.empty() ? nullptr : &record;
}

void SparseTable::State::bring_back(SlotGroup& group, IndexEntry& entry, const Fetched& fetched) {
  const std::string* record = fetched.find(entry.hash, group);
  std::vector<std::string> again;
  if (record == nullptr) {  // it went to disk after the call began
    again = disk->read({&entry.hash, 1});
    record = &again.front();
  }
  const std::uint32_t row = pool.take(group.free);
  read_record(*record, row);
  entry.row = row;
  entry.flags |= kDiskIsSame;
  --group.on_disk;
  on_disk.fetch_sub(1, std::memory_order_relaxed);
  in_memory.fetch_add(1, std::memory_order_relaxed);
}

Fetched SparseTable::State::prepare(Batch& batch, bool create) {
  Fetched fetched;
  const bool cold = on_disk.load(std::memory_order_relaxed) != 0;
  const bool limited = options.memory_limit != 0;
  if (!cold &&
      (!limited || memory() + batch.size() * pool.bytes_per_row() <= options.memory_limit)) {
    return fetched;
  }
  std::vector<std::uint64_t> absent;
  for_each_group([&](SlotGroup& group, int number) {
    if (batch.group(number).empty()) return;
    const std::lock_guard lock(group.mutex);
    for (const BatchItem& item : batch.group(number)) {
      IndexEntry* const entry = group.slot(item.hash).find(item.hash);
      if (entry == nullptr || entry->row == kNotAdmitted) {
        if (create) absent.push_back(item.hash);
      } else if (entry->row == kOnDisk) {
        fetched.hashes.push_back(item.hash);
      } else {
        entry->flags |= kReferenced;
      }
    }
  });
  for (std::vector<std::uint64_t>* hashes : {&absent, &fetched.hashes}) {
    std::sort(hashes->begin(), hashes->end());
    hashes->erase(std::unique(hashes->begin(), hashes->end()), hashes->end());
  }
  if (limited) make_room(absent.size() + fetched.hashes.size());
  if (fetched.hashes.empty()) return fetched;
  for (std::size_t i = 0; i < kGroups; ++i) {
    fetched.spills[i] = groups[i].spills.load(std::memory_order_acquire);
  }
  fetched.records = disk->read(fetched.hashes, false);  // other calls may have removed some
  return fetched;
}

void SparseTable::State::make_room(std::size_t rows) {
  const auto excess = [&] {
    const std::size_t wanted = memory() + rows * pool.bytes_per_row();
    return wanted > options.memory_limit
               ? (wanted - options.memory_limit - 1) / pool.bytes_per_row() + 1
               : 0;
  };
  if (excess() == 0) return;
  if (disk == nullptr) {
    fail_usage(fmt::format(
        "sparse table '{}': {} rows more do not fit into its memory limit of {} bytes, of which {} "
        "are in use, {} by the index of all rows; nothing was changed. Name a folder for cold "
        "rows, raise the limit, use more servers or evict rows",
        options.name, rows, options.memory_limit, memory(), index_memory.taken()));
  }
  if (index_memory.taken() > options.memory_limit) {
    fail_usage(fmt::format(
        "sparse table '{}': the index of its rows takes {} bytes, more than its memory limit of "
        "{}, and cannot move to disk; nothing was changed. Raise the limit, use more servers or "
        "evict rows",
        options.name, index_memory.taken(), options.memory_limit));
  }
  const std::lock_guard one(spilling);
  // Some more than asked for, so that not every call has to.
  std::size_t left = excess();
  if (left == 0) return;
  left = std::max<std::size_t>(left, options.memory_limit / 64 / pool.bytes_per_row());
  // The first round may find that all rows were used recently; the second round then evicts them.
  // If some bytes still remain, they belong to rows of the running call.
  for (int i = 0; i < 2 * kGroups && left > 0; ++i) {
    SlotGroup& group = groups[spill_hand];
    std::size_t spilled = 0;
    do {
      const std::lock_guard lock(group.mutex);
      spilled = spill(group, std::min(left, kMaxSpilled));
      left -= spilled;
    } while (left > 0 && spilled == kMaxSpilled);
    if (left > 0) spill_hand = (spill_hand + 1) % kGroups;
  }
}

std::size_t SparseTable::State::spill(SlotGroup& group, std::size_t max_rows) {
  std::vector<IndexEntry*> cold;
  for (std::size_t i = 0; i < kSlotsPerGroup && cold.size() < max_rows; ++i) {
    for (IndexEntry& entry : group.slots[group.hand]) {
      if (entry.row >= kNotAdmitted) continue;
      if ((entry.flags & kReferenced) != 0) {
        entry.flags &= static_cast<std::uint16_t>(~kReferenced);
      } else if (cold.size() < max_rows) {
        cold.push_back(&entry);
      }
    }
    // A slot of which not all fitted in is looked at again.
    if (cold.size() < max_rows) group.hand = (group.hand + 1) % kSlotsPerGroup;
  }
  if (cold.empty()) return 0;
  std::string records;
  std::vector<DiskTier::Write> writes;
  records.reserve(cold.size() * record_bytes());  // views into it must stay
  for (const IndexEntry* entry : cold) {
    if ((entry->flags & kDiskIsSame) != 0) continue;
    const std::size_t begin = records.size();
    append_record(*entry, records);
    writes.push_back({entry->hash, std::string_view(records).substr(begin)});
  }
  if (!writes.empty()) disk->write(writes);
  group.spills.fetch_add(1, std::memory_order_release);
  for (IndexEntry* entry : cold) {
    pool.give_back(group.free, entry->row);
    entry->row = kOnDisk;
    entry->flags &= kMarkBits;
  }
  group.on_disk += cold.size();
  on_disk.fetch_add(static_cast<std::int64_t>(cold.size()), std::memory_order_relaxed);
  in_memory.fetch_sub(static_cast<std::int64_t>(cold.size()), std::memory_order_relaxed);
  return cold.size();
}

}  // namespace trireme::distributed
