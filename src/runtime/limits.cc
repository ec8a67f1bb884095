#include "runtime/limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/error.h"

namespace trireme::runtime {

namespace {

class LimitedDevice : public device::Device {
 public:
  LimitedDevice(device::Device& device, Limits& limits) : device_(device), limits_(limits) {}

  int threads() const override { return device_.threads(); }
  void run(std::int64_t count, std::int64_t grain, bool parallel, const Body& body) override {
    device_.run(count, grain, parallel, body);
  }
  void* allocate(std::size_t bytes) override {
    limits_.allocate(static_cast<std::int64_t>(bytes));
    try {
      return device_.allocate(bytes);
    } catch (...) {
      limits_.release(static_cast<std::int64_t>(bytes));
      throw;
    }
  }
  void release(void* memory, std::size_t bytes) override {
    device_.release(memory, bytes);
    if (memory != nullptr) limits_.release(static_cast<std::int64_t>(bytes));
  }

 private:
  device::Device& device_;
  Limits& limits_;
};

// The largest number if they are too many to count.
std::int64_t bytes_of(DType dtype, const std::vector<std::int64_t>& shape) {
  Checked bytes = static_cast<std::int64_t>(size_of(dtype));
  for (const std::int64_t size : shape) bytes = bytes * size;
  return bytes.valid() ? bytes.value() : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

void Limits::spend(std::int64_t operations) {
  if (max_operations_ == 0) return;
  const std::int64_t left = max_operations_ - operations_;
  if (operations <= left) {
    operations_ += std::max<std::int64_t>(operations, 0);
    return;
  }
  fail_data(
      fmt::format("the run needs more than {} operations, its limit\n  hint   raise "
                  "SessionOptions::max_operations (--max-operations) if you trust the Program",
                  max_operations_));
}

void Limits::check(std::int64_t bytes) const {
  if (max_bytes_ == 0 || bytes <= max_bytes_ - bytes_) return;
  fail_data(
      fmt::format("the run needs more than {} bytes of memory, its limit\n  hint   raise "
                  "SessionOptions::max_bytes (--max-memory) if you trust the Program",
                  max_bytes_));
}

void Limits::allocate(std::int64_t bytes) {
  check(bytes);
  bytes_ += bytes;
}

void Limits::allocate(DType dtype, const std::vector<std::int64_t>& shape) {
  allocate(bytes_of(dtype, shape));
}

void Limits::check(DType dtype, const std::vector<std::int64_t>& shape) const {
  check(bytes_of(dtype, shape));
}

std::unique_ptr<device::Device> limited_device(device::Device& device, Limits& limits) {
  return std::make_unique<LimitedDevice>(device, limits);
}

}  // namespace trireme::runtime
