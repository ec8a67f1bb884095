// Lookups and updates.

#include "distributed/table/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "distributed/table/state.h"

namespace trireme::distributed {
namespace {

// The number of rows by which memory is prefetched: first the line of the index, then the row.
constexpr std::size_t kPrefetchDistance = 16;
constexpr std::size_t kLine = 64;  // bytes

// Inlined by force, as the lambdas that call it are: g++ 12 takes a function that only prefetches
// for one without effect, and leaves out calls of it.
template <bool Write>
[[gnu::always_inline]] inline void prefetch(const void* from, std::size_t bytes) {
  const auto* const begin = static_cast<const char*>(from);
  for (std::size_t i = 0; i < bytes; i += kLine) __builtin_prefetch(begin + i, Write ? 1 : 0);
}

// Calls find(i) and then work(i) for i in [0, n), and index(i) ahead of both. The rows that find(i)
// prefetches arrive while find continues with others.
template <class Index, class Find, class Work>
void pipeline(std::size_t n, const Index& index, const Find& find, const Work& work) {
  for (std::size_t i = 0; i < std::min(kPrefetchDistance, n); ++i) index(i);
  for (std::size_t i = 0; i < n + kPrefetchDistance; ++i) {
    if (i + kPrefetchDistance < n) index(i + kPrefetchDistance);
    if (i < n) find(i);
    if (i >= kPrefetchDistance) work(i - kPrefetchDistance);
  }
}

}  // namespace

SparseTable::State::State(const TableOptions& o)
    : options(o),
      layout(o.width, o.rule, o.float16),
      initializer(o.initializer, o.seed, o.name),
      pool(layout.bytes()) {
  if (!options.disk.folder.empty()) {
    disk = std::make_unique<DiskTier>(options.name, options.disk);
  }
}

SparseTable::SparseTable(const TableOptions& options) {
  check_options(options);
  state_ = std::make_unique<State>(options);
}

SparseTable::~SparseTable() = default;

const TableOptions& SparseTable::options() const { return state_->options; }
std::size_t SparseTable::row_bytes() const { return state_->record_bytes(); }

void SparseTable::State::fill_initial(std::uint64_t hash, std::byte* row) const {
  if (options.float16) {
    thread_local std::vector<float> weights;
    weights.resize(layout.width());
    initializer.fill(id_of(hash), weights.data(), layout.width());
    layout.write(weights.data(), row);
  } else {
    initializer.fill(id_of(hash), reinterpret_cast<float*>(row), layout.width());
  }
  layout.reset_state(row);
}

IndexEntry& SparseTable::State::make_row(SlotGroup& group, std::uint64_t hash, IndexEntry* entry) {
  const std::uint32_t row = pool.take(group.free);
  if (entry == nullptr) {
    try {
      entry = group.slot(hash).insert(hash, index_memory);
    } catch (...) {
      pool.give_back(group.free, row);
      throw;
    }
  } else if (entry->row == kNotAdmitted) {
    --group.not_admitted;
  }
  const std::uint16_t tick = now.load(std::memory_order_relaxed);
  entry->row = row;
  entry->used = tick;
  entry->flags = kMarkBits | kReferenced;
  pool.statistics(row) = {0, 0, tick, 0};
  ++group.rows;
  in_memory.fetch_add(1, std::memory_order_relaxed);
  return *entry;
}

std::uint32_t SparseTable::State::make(SlotGroup& group, std::uint64_t hash, IndexEntry* entry,
                                       unsigned seen) {
  const unsigned total = seen + (entry == nullptr ? 0 : entry->flags);
  if (total < static_cast<unsigned>(options.admission)) {
    if (entry == nullptr) {
      entry = group.slot(hash).insert(hash, index_memory);
      entry->row = kNotAdmitted;
      ++group.not_admitted;
    }
    entry->used = now.load(std::memory_order_relaxed);
    entry->flags = static_cast<std::uint16_t>(total);
    return kNoEntry;
  }
  const std::uint32_t row = make_row(group, hash, entry).row;
  fill_initial(hash, pool.row(row));
  return row;
}

void SparseTable::State::erase(SlotGroup& group, SlotIndex& slot, IndexEntry& entry) {
  if (entry.row == kNotAdmitted) {
    --group.not_admitted;
  } else {
    --group.rows;
    if (entry.row == kOnDisk) {
      --group.on_disk;
      on_disk.fetch_sub(1, std::memory_order_relaxed);
    } else {
      pool.give_back(group.free, entry.row);
      in_memory.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  slot.erase(&entry);
}

void SparseTable::lookup(std::span<const Id> ids, float* rows, Create create) {
  State& state = *state_;
  const RowLayout& layout = state.layout;
  const std::size_t width = layout.width();
  const std::size_t weight_bytes = width * (state.options.float16 ? 2 : 4);
  Batch& batch = Batch::of(ids);
  const Fetched fetched = state.prepare(batch, create == Create::yes);
  state.for_each_group([&](SlotGroup& group, int number) {
    const std::span<BatchItem> items = batch.group(number);
    if (items.empty()) return;
    const std::lock_guard lock(group.mutex);
    pipeline(
        items.size(),
        [&](std::size_t i) __attribute__((always_inline)) {
          prefetch<false>(group.slot(items[i].hash).home(items[i].hash), 1);
        },
        [&](std::size_t i) {
          BatchItem& item = items[i];
          item.row =
              state.use_or_make(group, item.hash, create == Create::yes ? 1 : 0, false, fetched);
          if (item.row != kNoEntry) prefetch<false>(state.pool.row(item.row), weight_bytes);
          prefetch<true>(rows + item.position * width, width * sizeof(float));
        },
        [&](std::size_t i) {
          float* const to = rows + items[i].position * width;
          if (items[i].row != kNoEntry) {
            layout.read(state.pool.row(items[i].row), to);
          } else {
            state.initializer.fill(id_of(items[i].hash), to, width);
          }
        });
  });
}

namespace {

// Calls change(row, values) for every id of the batch once, with the sum of its rows or the last of
// them.
template <class State, class Merge, class Change>
void change_rows(State& state, Batch& batch, bool create, const Merge& merge,
                 const Change& change) {
  const unsigned seen = create ? 65535 : 0;
  const Fetched fetched = state.prepare(batch, create);
  const std::size_t bytes = state.layout.bytes();
  state.for_each_group([&](SlotGroup& group, int number) {
    const std::span<Batch::Sum> sums = merge(number);
    if (sums.empty()) return;
    const std::lock_guard lock(group.mutex);
    pipeline(
        sums.size(),
        [&](std::size_t i) __attribute__((always_inline)) {
          prefetch<true>(group.slot(sums[i].hash).home(sums[i].hash), 1);
          prefetch<false>(sums[i].values, state.layout.width() * sizeof(float));
        },
        [&](std::size_t i) {
          Batch::Sum& sum = sums[i];
          sum.row = state.use_or_make(group, sum.hash, seen, true, fetched);
          if (sum.row != kNoEntry) prefetch<true>(state.pool.row(sum.row), bytes);
        },
        [&](std::size_t i) {
          if (sums[i].row != kNoEntry) {
            change(sums[i].row, sums[i].values);
          } else {
            group.dropped += sums[i].times;
          }
        });
  });
}

}  // namespace

void SparseTable::update(std::span<const Id> ids, const float* gradients, const UpdateStep& step) {
  State& state = *state_;
  if (!(step.rate > 0) || !std::isfinite(step.rate) || step.step < 1) {
    fail_usage(
        fmt::format("sparse table '{}': an update with rate {} and step {}; the rate must be "
                    "positive, and steps count from 1",
                    state.options.name, step.rate, step.step));
  }
  const RuleNumbers numbers(state.options.rule, step);
  const std::size_t width = state.layout.width();
  Batch& batch = Batch::of(ids);
  change_rows(
      state, batch, state.options.admission == 1,
      [&](int group) { return batch.sums(group, gradients, width); },
      [&](std::uint32_t row, const float* gradient) {
        state.layout.apply(numbers, state.pool.row(row), gradient);
      });
}

void SparseTable::add_deltas(std::span<const Id> ids, const float* deltas) {
  State& state = *state_;
  const std::size_t width = state.layout.width();
  Batch& batch = Batch::of(ids);
  change_rows(
      state, batch, state.options.admission == 1,
      [&](int group) { return batch.sums(group, deltas, width); },
      [&](std::uint32_t row, const float* delta) { state.layout.add(delta, state.pool.row(row)); });
}

void SparseTable::assign(std::span<const Id> ids, const float* rows) {
  State& state = *state_;
  const std::size_t width = state.layout.width();
  Batch& batch = Batch::of(ids);
  change_rows(
      state, batch, true, [&](int group) { return batch.lasts(group, rows, width); },
      [&](std::uint32_t row, const float* weights) {
        std::byte* const to = state.pool.row(row);
        state.layout.write(weights, to);
        state.layout.reset_state(to);
        state.pool.statistics(row) = {0, 0, state.now.load(std::memory_order_relaxed), 0};
      });
}

bool SparseTable::is_disk_full() const {
  return state_->disk != nullptr && state_->disk->is_full();
}

TableStatistics SparseTable::statistics() const {
  TableStatistics all;
  for (SlotGroup& group : state_->groups) {
    const std::lock_guard lock(group.mutex);
    all.rows += group.rows;
    all.on_disk += group.on_disk;
    all.not_admitted += group.not_admitted;
    all.dropped += group.dropped;
  }
  all.evicted = state_->evicted.load(std::memory_order_relaxed);
  all.memory = state_->memory();
  all.disk_full = is_disk_full();
  return all;
}

}  // namespace trireme::distributed
