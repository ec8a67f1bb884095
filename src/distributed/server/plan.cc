#include "distributed/server/plan.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "distributed/table/rules.h"

namespace trireme::distributed {
namespace {

struct Item {
  std::uint64_t hash;
  std::uint32_t position;
  bool operator<(const Item& other) const {
    return hash < other.hash || (hash == other.hash && position < other.position);
  }
};

// By slot, then by hash, then by position: as sorted, but with a counting sort by slot first.
std::vector<Item> sorted(std::span<const Id> ids) {
  std::vector<std::uint64_t> hashes(ids.size());
  std::vector<std::uint32_t> next(kSlots + 1);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    hashes[i] = hash_of(ids[i]);
    ++next[static_cast<std::size_t>(slot_of_hash(hashes[i])) + 1];
  }
  for (std::size_t slot = 0; slot < kSlots; ++slot) next[slot + 1] += next[slot];
  std::vector<Item> items(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    items[next[static_cast<std::size_t>(slot_of_hash(hashes[i]))]++] = {
        hashes[i], static_cast<std::uint32_t>(i)};
  }
  for (std::size_t slot = 0, begin = 0; slot < kSlots; ++slot) {  // next has moved on to the ends
    const std::size_t end = next[slot];
    if (end - begin > 1) {
      std::sort(items.begin() + static_cast<std::ptrdiff_t>(begin),
                items.begin() + static_cast<std::ptrdiff_t>(end));
    }
    begin = end;
  }
  return items;
}

}  // namespace

Plan::Plan(std::span<const Id> ids) {
  if (ids.size() >= 0xffffffffu) fail_usage("a batch of 2^32 ids or more: pass it in parts");
  const std::vector<Item> items = sorted(ids);
  ids_.reserve(items.size());
  slots_.reserve(items.size());
  begins_.reserve(items.size() + 1);
  positions_.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i == 0 || items[i].hash != items[i - 1].hash) {
      ids_.push_back(ids[items[i].position]);
      slots_.push_back(static_cast<std::uint16_t>(slot_of_hash(items[i].hash)));
      begins_.push_back(static_cast<std::uint32_t>(i));
    }
    positions_[i] = items[i].position;
  }
  begins_.push_back(static_cast<std::uint32_t>(items.size()));
}

std::shared_ptr<float[]> Plan::sums(const float* rows, std::size_t width) const {
  auto result = std::make_shared_for_overwrite<float[]>(size() * width);
  for (std::size_t i = 0; i < size(); ++i) {
    float* const to = result.get() + i * width;
    const auto places = positions(i);
    std::memcpy(to, rows + places[0] * width, width * sizeof(float));
    for (const std::uint32_t place : places.subspan(1)) add_to(rows + place * width, to, width);
  }
  return result;
}

}  // namespace trireme::distributed
