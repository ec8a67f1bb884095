#include "distributed/table/pages.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace trireme::distributed {

HugePages::HugePages(std::size_t bytes) : size_((bytes + kHugePage - 1) / kHugePage * kHugePage) {
  const std::size_t reserved = size_ + kHugePage;
  void* const start = ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) {
    fail_io(fmt::format("no memory for {} more bytes of a sparse table: {}", size_,
                        std::generic_category().message(errno)));
  }
  // Unmaps the pages before and after the aligned part.
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  const std::size_t before = (kHugePage - address % kHugePage) % kHugePage;
  data_ = static_cast<std::byte*>(start) + before;
  if (before != 0) ::munmap(start, before);
  if (before != kHugePage) ::munmap(data_ + size_, kHugePage - before);
  ::madvise(data_, size_, MADV_HUGEPAGE);  // small pages do as well, if slower
}

HugePages::HugePages(HugePages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

HugePages& HugePages::operator=(HugePages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

HugePages::~HugePages() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace trireme::distributed
