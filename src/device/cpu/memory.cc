#include "device/cpu/memory.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cstdlib>

#include "base/error.h"

namespace trireme::device {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLarge = 2 * kHugePage;           // bytes from which huge pages are requested
constexpr std::size_t kMaxKept = std::size_t{1} << 30;  // bytes
constexpr std::size_t kAddressSpace = std::size_t{1} << 47;

std::size_t alignment_for(std::size_t bytes) { return bytes >= kLarge ? kHugePage : kLine; }

std::size_t rounded(std::size_t bytes) {
  if (bytes > kAddressSpace) return bytes;
  const std::size_t unit = alignment_for(bytes);
  return bytes == 0 ? unit : (bytes + unit - 1) / unit * unit;
}

// Null if there is no memory.
void* take_from_system(std::size_t size) {
  if (size > kAddressSpace) return nullptr;
  void* memory = std::aligned_alloc(alignment_for(size), size);
  // Advice only: where huge pages are switched off, small ones do.
  if (memory != nullptr && size >= kLarge) madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

Memory::~Memory() { free_kept(); }

void Memory::free_kept() {
  for (const auto& [size, memory] : kept_) std::free(memory);
  kept_.clear();
  kept_bytes_ = 0;
}

void* Memory::allocate(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(size);
  if (found != kept_.end()) {
    void* memory = found->second;
    kept_.erase(found);
    kept_bytes_ -= size;
    return memory;
  }
  void* memory = take_from_system(size);
  if (memory == nullptr && !kept_.empty()) {
    free_kept();
    memory = take_from_system(size);
  }
  if (memory == nullptr) {
    fail_io(
        fmt::format("out of memory: {} bytes ({:.1f} MiB) were wanted; a smaller batch needs "
                    "less",
                    bytes, static_cast<double>(bytes) / (1 << 20)));
  }
  return memory;
}

void Memory::release(void* memory, std::size_t bytes) {
  if (memory == nullptr) return;
  const std::size_t size = rounded(bytes);
  const std::lock_guard lock(mutex_);
  if (kept_bytes_ + size > kMaxKept) {
    std::free(memory);
    return;
  }
  kept_.emplace(size, memory);
  kept_bytes_ += size;
}

}  // namespace trireme::device
