// Records of rows, their statistics, and which rows go.

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "distributed/table/state.h"

namespace trireme::distributed {

static_assert(std::endian::native == std::endian::little, "records are little-endian");

RowStatistics SparseTable::State::decayed(RowStatistics statistics) const {
  const std::uint16_t tick = now.load(std::memory_order_relaxed);
  const auto ticks = static_cast<std::uint16_t>(tick - statistics.decayed);
  if (ticks != 0 && options.decay != 1) {
    const double factor = std::pow(options.decay, ticks);
    statistics.show = static_cast<float>(statistics.show * factor);
    statistics.click = static_cast<float>(statistics.click * factor);
  }
  statistics.decayed = tick;
  return statistics;
}

// Weights and state as in memory; show, click, tick of these, tick of the last use.
void SparseTable::State::append_record(const IndexEntry& entry, std::string& to) const {
  RowStatistics statistics = pool.statistics(entry.row);
  statistics.unused = entry.used;
  to.append(reinterpret_cast<const char*>(pool.row(entry.row)), layout.bytes());
  to.append(reinterpret_cast<const char*>(&statistics), sizeof statistics);
}

void SparseTable::State::read_record(std::string_view record, std::uint32_t row) const {
  std::memcpy(pool.row(row), record.data(), layout.bytes());
  RowStatistics& statistics = pool.statistics(row);
  std::memcpy(&statistics, record.data() + layout.bytes(), sizeof statistics);
  statistics.unused = 0;
}

std::uint16_t SparseTable::State::used_in(std::string_view record) const {
  RowStatistics statistics;
  std::memcpy(&statistics, record.data() + layout.bytes(), sizeof statistics);
  return statistics.unused;
}

void SparseTable::tick() { state_->now.fetch_add(1, std::memory_order_relaxed); }
std::uint16_t SparseTable::clock() const { return state_->now.load(std::memory_order_relaxed); }
void SparseTable::set_clock(std::uint16_t clock) {
  state_->now.store(clock, std::memory_order_relaxed);
}

void SparseTable::count(std::span<const Id> ids, const float* counts) {
  State& state = *state_;
  Batch& batch = Batch::of(ids);
  const Fetched fetched = state.prepare(batch, false);
  state.for_each_group([&](SlotGroup& group, int number) {
    const std::lock_guard lock(group.mutex);
    for (const BatchItem& item : batch.group(number)) {
      const std::uint32_t row = state.use_or_make(group, item.hash, 0, true, fetched);
      if (row == kNoEntry) continue;
      RowStatistics& statistics = state.pool.statistics(row);
      statistics = state.decayed(statistics);
      statistics.show += counts[2 * item.position];
      statistics.click += counts[2 * item.position + 1];
    }
  });
}

namespace {

// Entries of a slot as their hashes, since removal moves entries.
template <class Keep>
std::vector<std::uint64_t> hashes_of(const SlotIndex& slot, const Keep& keep) {
  std::vector<std::uint64_t> hashes;
  for (const IndexEntry& entry : slot) {
    if (entry.row != kNoEntry && keep(entry)) hashes.push_back(entry.hash);
  }
  return hashes;
}

}  // namespace

std::uint64_t SparseTable::evict(const Eviction& eviction) {
  State& state = *state_;
  if (eviction.unused_for < 0 || eviction.unused_for > 65534) {
    fail_usage(
        fmt::format("sparse table '{}': eviction of rows unused for {} ticks; ages are 1 to "
                    "65534, and 0 is none",
                    state.options.name, eviction.unused_for));
  }
  const std::uint16_t now = state.now.load(std::memory_order_relaxed);
  const bool by_score = eviction.below > 0;
  const auto too_old = [&](const IndexEntry& entry) {
    const auto age = static_cast<std::uint16_t>(now - entry.used);
    return eviction.unused_for != 0 && age >= eviction.unused_for;
  };
  const auto too_low = [&](const RowStatistics& raw) {
    const RowStatistics statistics = state.decayed(raw);
    return eviction.show_weight * statistics.show + eviction.click_weight * statistics.click <
           eviction.below;
  };
  std::uint64_t evicted = 0;
  for (SlotGroup& group : state.groups) {
    for (SlotIndex& slot : group.slots) {
      const std::lock_guard lock(group.mutex);
      // Scores of cold rows are on disk.
      std::vector<std::uint64_t> cold;
      std::vector<std::uint64_t> gone = hashes_of(slot, [&](const IndexEntry& entry) {
        if (too_old(entry)) return true;
        if (!by_score || entry.row == kNotAdmitted) return false;
        if (entry.row != kOnDisk) return too_low(state.pool.statistics(entry.row));
        cold.push_back(entry.hash);
        return false;
      });
      std::sort(cold.begin(), cold.end());
      const std::vector<std::string> records =
          cold.empty() ? std::vector<std::string>() : state.disk->read(cold);
      for (std::size_t i = 0; i < cold.size(); ++i) {
        RowStatistics statistics;
        std::memcpy(&statistics, records[i].data() + state.layout.bytes(), sizeof statistics);
        if (too_low(statistics)) gone.push_back(cold[i]);
      }
      evicted += state.remove_from(group, slot, gone);
    }
  }
  state.evicted.fetch_add(evicted, std::memory_order_relaxed);
  return evicted;
}

void SparseTable::remove(std::span<const Id> ids) {
  State& state = *state_;
  for (const Id id : ids) {
    const std::uint64_t hash = hash_of(id);
    SlotGroup& group = state.group_of(hash);
    const std::lock_guard lock(group.mutex);
    state.remove_from(group, group.slot(hash), {&hash, 1});
  }
}

// Returns how many rows went.
std::uint64_t SparseTable::State::remove_from(SlotGroup& group, SlotIndex& slot,
                                              std::span<const std::uint64_t> hashes) {
  // Records may be on disk for rows in memory, too; a row that comes again must not meet them.
  std::vector<DiskTier::Write> deletes;
  if (disk != nullptr) {
    for (const std::uint64_t hash : hashes) deletes.push_back({hash, {}});
    if (!deletes.empty()) disk->write(deletes);
  }
  const std::uint16_t marks = cleared_marks.load(std::memory_order_relaxed);
  std::uint64_t rows = 0;
  for (const std::uint64_t hash : hashes) {
    IndexEntry* const entry = slot.find(hash);
    if (entry == nullptr) continue;
    if (entry->row != kNotAdmitted) {
      ++rows;
      if (marks != 0) group.removed.push_back({hash, marks});
    }
    erase(group, slot, *entry);
  }
  return rows;
}

}  // namespace trireme::distributed
