#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"
#include "trireme/dtype.h"

namespace trireme {

// Another device, of which at most `limit` bytes are taken at a time.
class LimitedDevice : public device::Device {
 public:
  LimitedDevice(std::unique_ptr<device::Device> device, std::int64_t limit)
      : device_(std::move(device)), limit_(limit) {}

  int threads() const override { return device_->threads(); }
  void run(std::int64_t count, std::int64_t grain, bool parallel, const Body& body) override {
    device_->run(count, grain, parallel, body);
  }
  // Errors: io, also if the limit is reached.
  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) override;

 private:
  std::unique_ptr<device::Device> device_;
  std::int64_t limit_;
  std::atomic<std::int64_t> used_{0};
};

// Returns the limit of a Session: `given`, or if that is 0 $TRIREME_MEMORY_LIMIT, or 0 for none.
// Errors: usage, if it is negative or no number.
std::int64_t memory_limit(std::int64_t given);

// Takes the size of a tensor from `left`, the rest of the limit. Errors: io, if that is too small.
// With a limit of 0, always returns.
void take_from_limit(std::int64_t limit, std::int64_t& left, DType dtype,
                     const std::vector<std::int64_t>& shape);

}  // namespace trireme
