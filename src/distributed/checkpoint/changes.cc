#include "distributed/checkpoint/changes.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace trireme::distributed::checkpoint {

std::vector<SlotRange> ranges_of(const Slots& slots, int max) {
  std::vector<SlotRange> ranges;
  for (int slot = 0; slot < kSlots; ++slot) {
    if (!slots[static_cast<std::size_t>(slot)]) continue;
    if (!ranges.empty() && ranges.back().last == slot && slot % max != 0) {
      ++ranges.back().last;
    } else {
      ranges.push_back({slot, slot + 1});
    }
  }
  return ranges;
}

Slots slots_of(const std::vector<SlotRange>& ranges, const std::string& table) {
  Slots slots;
  for (const SlotRange& range : ranges) {
    if (range.first < 0 || range.first > range.last || range.last > kSlots) {
      fail_usage(
          fmt::format("table '{}': slots [{}, {}) are no range", table, range.first, range.last));
    }
    for (int slot = range.first; slot < range.last; ++slot) {
      if (slots[static_cast<std::size_t>(slot)]) {
        fail_usage(fmt::format("table '{}': slot {} is named twice", table, slot));
      }
      slots.set(static_cast<std::size_t>(slot));
    }
  }
  return slots;
}

void Changes::begin(SparseTable& table, std::int64_t id, std::int64_t previous) {
  if (begun_ != 0 && begun_ == previous) {
    std::swap(since_, next_);
    counted_ = begun_;
    known_ = read_;
    removed_.clear();
  } else if (counted_ != previous) {
    known_.reset();  // the committed save there is not ours
    removed_.clear();
    counted_ = previous;
  }
  begun_ = id;
  read_.reset();
  // In this order, a removal between the two calls is reported twice, which is harmless. In the
  // other order it might never be reported.
  table.take_removed(next_, 0, kSlots);
  const std::vector<Id> removed = table.take_removed(since_, 0, kSlots);
  for (const Id id : removed) removed_.push_back(hash_of(id));
  std::sort(removed_.begin(), removed_.end());
  removed_.erase(std::unique(removed_.begin(), removed_.end()), removed_.end());
}

std::vector<Id> Changes::removed(const SparseTable& table, SlotRange slots) const {
  const auto begin_of = [&](int slot) {
    return std::partition_point(removed_.begin(), removed_.end(),
                                [&](std::uint64_t hash) { return slot_of_hash(hash) < slot; });
  };
  std::vector<Id> ids;
  std::transform(begin_of(slots.first), begin_of(slots.last), std::back_inserter(ids), id_of);
  std::sort(ids.begin(), ids.end());
  // A row that is there now is either changed, or was saved after its removal: it must not go.
  const std::vector<bool> there = table.contains(ids);
  std::vector<Id> gone;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!there[i]) gone.push_back(ids[i]);
  }
  return gone;
}

void Changes::read(SparseTable& table, SlotRange slots, bool all,
                   const std::function<void(RowBlock)>& take) {
  ReadOptions options{.clear = next_, .rows = rows_of_block(table.row_bytes())};
  if (!all) options.changed = since_;
  for (int slot = slots.first; slot < slots.last; ++slot) {
    if (!all) table.clear(next_, slot, slot + 1);
    table.read(slot, slot + 1, options, take);
    read_.set(static_cast<std::size_t>(slot));
  }
}

void Changes::forget(SlotRange slots) {
  for (int slot = slots.first; slot < slots.last; ++slot) {
    known_.reset(static_cast<std::size_t>(slot));
    read_.reset(static_cast<std::size_t>(slot));
  }
}

}  // namespace trireme::distributed::checkpoint
