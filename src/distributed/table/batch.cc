#include "distributed/table/batch.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "distributed/table/rules.h"

namespace trireme::distributed {

Batch& Batch::of(std::span<const Id> ids) {
  if (ids.size() >= 0xffffffffu) {
    fail_usage("a batch of 2^32 ids or more for a sparse table: pass it in parts");
  }
  thread_local Batch batch;
  batch.hashes_.resize(ids.size());
  batch.items_.resize(ids.size());
  std::array<std::size_t, kGroups> counts = {};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    batch.hashes_[i] = hash_of(ids[i]);
    ++counts[static_cast<std::size_t>(group_of_hash(batch.hashes_[i]))];
  }
  std::array<std::size_t, kGroups> next = {};
  for (std::size_t g = 0; g < kGroups; ++g) {
    next[g] = batch.begins_[g];
    batch.begins_[g + 1] = batch.begins_[g] + counts[g];
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::uint64_t hash = batch.hashes_[i];
    batch.items_[next[static_cast<std::size_t>(group_of_hash(hash))]++] = {
        hash, static_cast<std::uint32_t>(i), 0};
  }
  return batch;
}

template <class Again>
std::span<Batch::Sum> Batch::merge(int number, const float* rows, std::size_t width,
                                   const Again& again) {
  constexpr std::uint32_t kFree = 0xffffffffu;
  const std::span<BatchItem> items = group(number);
  const std::size_t mask = std::bit_ceil(2 * items.size() + 1) - 1;
  places_.assign(mask + 1, kFree);
  if (sums_.size() < items.size()) sums_.resize(items.size());
  std::uint32_t n = 0;
  for (const BatchItem& item : items) {
    const float* const values = rows + item.position * width;
    std::size_t place = item.hash & mask;
    while (places_[place] != kFree && sums_[places_[place]].hash != item.hash) {
      place = (place + 1) & mask;
    }
    if (places_[place] == kFree) {
      places_[place] = n;
      sums_[n++] = {item.hash, values, 0, 1};
    } else {
      again(sums_[places_[place]], values);
      ++sums_[places_[place]].times;
    }
  }
  return {sums_.data(), n};
}

std::span<Batch::Sum> Batch::sums(int number, const float* rows, std::size_t width) {
  // Every second row at most begins a sum.
  const std::size_t max = group(number).size() / 2 * width;
  if (added_.size() < max) added_.resize(max);
  float* next = added_.data();
  return merge(number, rows, width, [&](Sum& sum, const float* values) {
    if (sum.times == 1) {
      std::copy_n(sum.values, width, next);
      sum.values = next;
      next += width;
    }
    // Sums lie in added_, which is ours to write.
    add_to(values, added_.data() + (sum.values - added_.data()), width);
  });
}

std::span<Batch::Sum> Batch::lasts(int number, const float* rows, std::size_t width) {
  return merge(number, rows, width, [](Sum& sum, const float* values) { sum.values = values; });
}

}  // namespace trireme::distributed
