#pragma once

// The memory of rows. A row has its weights, followed by its optimizer state. Its statistics are
// separate, so that lookups do not load them. Rows never move.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "distributed/table/pages.h"

namespace trireme::distributed {

struct RowStatistics {
  float show = 0, click = 0;  // as of tick `decayed`
  std::uint16_t decayed = 0;
  std::uint16_t unused = 0;
};
static_assert(sizeof(RowStatistics) == 12);

class RowPool {
 public:
  explicit RowPool(std::size_t row_bytes);  // of weights and state

  std::byte* row(std::uint32_t number) const {
    return chunks_[number >> shift_] + (number & mask_) * stride_;
  }
  RowStatistics& statistics(std::uint32_t number) const {
    return reinterpret_cast<RowStatistics*>(chunks_[number >> shift_] +
                                            statistics_)[number & mask_];
  }
  std::size_t stride() const { return stride_; }
  std::size_t bytes_per_row() const { return stride_ + sizeof(RowStatistics); }

  // Free rows of one group of slots, so that most calls need only the lock of the group. The pool
  // keeps memory from the system until its destruction, and reuses released rows.
  using Free = std::vector<std::uint32_t>;
  // Errors: io if there is no memory, or 2^32 rows exist. The content is undefined.
  std::uint32_t take(Free& free) {
    if (free.empty()) refill(free);
    const std::uint32_t row = free.back();
    free.pop_back();
    return row;
  }
  void give_back(Free& free, std::uint32_t row) {
    free.push_back(row);
    if (free.size() > kMaxFree) return_half(free);
  }

 private:
  static constexpr std::uint32_t kExtent = 64;
  static constexpr std::size_t kMaxFree = 4096;

  void refill(Free& free);
  void return_half(Free& free);

  std::size_t stride_ = 0, statistics_ = 0;  // bytes; where statistics begin in a chunk
  std::uint32_t shift_ = 0, mask_ = 0;       // rows of a chunk: 1 << shift_
  std::unique_ptr<std::byte*[]> chunks_;
  std::mutex mutex_;
  std::vector<HugePages> pages_;
  std::uint64_t next_ = 0;  // the first row that was never used
  Free free_;
};

}  // namespace trireme::distributed
