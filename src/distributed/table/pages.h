#pragma once

// Memory straight from the system, in huge pages where it grants them: random access to gigabytes
// of rows is bound by misses of the TLB otherwise.

#include <cstddef>

namespace trireme::distributed {

inline constexpr std::size_t kHugePage = 2u << 20;

// Owns zeroed memory that begins at a multiple of kHugePage. Only what is touched is taken from the
// system. Errors: io, when the system has no more.
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
