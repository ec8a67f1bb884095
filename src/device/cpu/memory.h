#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace trireme::device {

// Memory that reuses released blocks instead of returning them to the system, because the first
// write to a new page costs ten times a write to a used one. Thread-safe.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();  // frees released blocks; other blocks leak

  void* allocate(std::size_t bytes);              // as Device::allocate; not null even for 0 bytes
  void release(void* memory, std::size_t bytes);  // `bytes` as given to allocate

 private:
  void free_kept();

  std::mutex mutex_;
  std::multimap<std::size_t, void*> kept_;  // by size
  std::size_t kept_bytes_ = 0;
};

}  // namespace trireme::device
