#pragma once

// Memory directly from the system, in huge pages if available. Otherwise TLB misses limit random
// access to gigabytes of rows.

#include <cstddef>

namespace trireme::distributed {

inline constexpr std::size_t kHugePage = 2u << 20;

// Owns zeroed memory that begins at a multiple of kHugePage. The system provides pages when they
// are first used. Errors: io if there is no memory.
class HugePages {
 public:
  HugePages() = default;
  explicit HugePages(std::size_t bytes);
  HugePages(HugePages&& other) noexcept;
  HugePages& operator=(HugePages&& other) noexcept;
  ~HugePages();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace trireme::distributed
