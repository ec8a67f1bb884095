#include "distributed/table/index_memory.h"

#include <bit>
#include <cstdint>
#include <utility>

namespace trireme::distributed {
namespace {

int order_of(std::size_t bytes) {
  return std::countr_zero(bytes) - std::countr_zero(IndexMemory::kMin);
}

// Chunks begin at multiples of their size, so buddies differ in one bit of their address.
std::byte* buddy_of(std::byte* block, std::size_t bytes) {
  return (reinterpret_cast<std::uintptr_t>(block) & bytes) != 0 ? block - bytes : block + bytes;
}

}  // namespace

std::byte* IndexMemory::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > kHugePage) {
    HugePages pages(bytes);
    std::byte* const block = pages.data();
    large_.emplace(block, std::move(pages));
    taken_ += bytes;
    return block;
  }
  const int wanted = order_of(bytes);
  int order = wanted;
  while (order < kOrders && free_[static_cast<std::size_t>(order)].empty()) ++order;
  std::byte* block = nullptr;
  if (order == kOrders) {
    block = chunks_.emplace_back(kHugePage).data();
    order = kOrders - 1;
  } else {
    auto& blocks = free_[static_cast<std::size_t>(order)];
    block = *blocks.begin();
    blocks.erase(blocks.begin());
  }
  while (order > wanted) {
    --order;
    free_[static_cast<std::size_t>(order)].insert(block + (kMin << order));
  }
  taken_ += bytes;
  return block;
}

void IndexMemory::give_back(std::byte* block, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  taken_ -= bytes;
  if (bytes > kHugePage) {
    large_.erase(block);
    return;
  }
  int order = order_of(bytes);
  for (; order + 1 < kOrders; ++order) {
    const std::size_t size = kMin << order;
    std::byte* const buddy = buddy_of(block, size);
    if (free_[static_cast<std::size_t>(order)].erase(buddy) == 0) break;
    if (buddy < block) block = buddy;
  }
  free_[static_cast<std::size_t>(order)].insert(block);
}

}  // namespace trireme::distributed
