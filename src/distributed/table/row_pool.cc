#include "distributed/table/row_pool.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace trireme::distributed {
namespace {

constexpr std::uint64_t kMaxRowCount = 0xfffffff0u;
constexpr std::size_t kChunk = 16u << 20;  // bytes of rows

}  // namespace

// Rows of at most a cache line do not cross one; longer ones begin at a multiple of 16 bytes.
RowPool::RowPool(std::size_t row_bytes)
    : stride_(row_bytes <= 64 ? std::bit_ceil(std::max<std::size_t>(row_bytes, 4))
                              : (row_bytes + 15) / 16 * 16) {
  const std::size_t rows = std::bit_floor(std::max<std::size_t>(kChunk / stride_, kExtent));
  shift_ = static_cast<std::uint32_t>(std::countr_zero(rows));
  mask_ = static_cast<std::uint32_t>(rows - 1);
  statistics_ = rows * stride_;
  chunks_ = std::make_unique<std::byte*[]>((kMaxRowCount >> shift_) + 1);
}

void RowPool::refill(Free& free) {
  const std::lock_guard lock(mutex_);
  free.reserve(kMaxFree + 1);
  if (!free_.empty()) {
    const std::size_t n = std::min<std::size_t>(free_.size(), kExtent);
    free.insert(free.end(), free_.end() - static_cast<std::ptrdiff_t>(n), free_.end());
    free_.resize(free_.size() - n);
    return;
  }
  if (next_ + kExtent > kMaxRowCount) {
    fail_io("a sparse table has no room for more than 2^32 rows in one process: use more servers");
  }
  if ((next_ >> shift_) == pages_.size()) {
    const std::size_t rows = mask_ + std::size_t{1};
    HugePages& pages = pages_.emplace_back(rows * (stride_ + sizeof(RowStatistics)));
    chunks_[pages_.size() - 1] = pages.data();
  }
  for (std::uint32_t i = kExtent; i-- > 0;) free.push_back(static_cast<std::uint32_t>(next_) + i);
  next_ += kExtent;
}

void RowPool::return_half(Free& free) {
  const std::lock_guard lock(mutex_);
  const auto half = free.end() - static_cast<std::ptrdiff_t>(kMaxFree / 2);
  free_.insert(free_.end(), half, free.end());
  free.erase(half, free.end());
}

}  // namespace trireme::distributed
