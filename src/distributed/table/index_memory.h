#pragma once

// Memory for the indices of slots, in powers of two that double as a slot grows. A buddy allocator
// (Knuth, The Art of Computer Programming 1, section 2.5) in huge pages merges released blocks, so
// that other indices can use them. Thread-safe.

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "distributed/table/pages.h"

namespace trireme::distributed {

class IndexMemory {
 public:
  static constexpr std::size_t kMin = 64;  // bytes, and the alignment

  // bytes is a power of two, at least kMin. The content is undefined. Errors: io.
  std::byte* take(std::size_t bytes);
  void give_back(std::byte* block, std::size_t bytes);

  std::size_t taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kOrders = 16;  // kMin << 15 is kHugePage

  std::mutex mutex_;
  std::array<std::unordered_set<std::byte*>, kOrders> free_;  // blocks of kMin << order bytes
  std::vector<HugePages> chunks_;
  std::map<std::byte*, HugePages> large_;  // blocks above kHugePage
  std::atomic<std::size_t> taken_{0};
};

}  // namespace trireme::distributed
