#pragma once

// Limits on what runs may use, for Programs from other people.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.h"
#include "trireme/dtype.h"

namespace trireme::runtime {

// Counts the memory and the operations of runs. All executors of a Session share one. 0: no limit.
class Limits {
 public:
  Limits(std::int64_t max_bytes, std::int64_t max_operations)
      : max_bytes_(max_bytes), max_operations_(max_operations) {}

  void begin_run() { operations_ = 0; }
  // Adds the operations of a step that is about to run. Error(data) above the limit.
  void spend(std::int64_t operations);
  // Adds memory that is about to be allocated. Error(data) above the limit; then nothing is added.
  void allocate(std::int64_t bytes);
  void release(std::int64_t bytes) { bytes_ -= bytes; }
  // The same for tensors that are not allocated on the device.
  void allocate(DType dtype, const std::vector<std::int64_t>& shape);
  // Error(data) if a tensor may not be allocated now.
  void check(DType dtype, const std::vector<std::int64_t>& shape) const;

 private:
  void check(std::int64_t bytes) const;

  const std::int64_t max_bytes_, max_operations_;
  std::atomic<std::int64_t> bytes_{0};
  std::int64_t operations_ = 0;
};

// A device that counts its allocations. `device` and `limits` outlive it.
std::unique_ptr<device::Device> limited_device(device::Device& device, Limits& limits);

}  // namespace trireme::runtime
