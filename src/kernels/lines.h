#pragma once

// A tensor as lines along one axis, for kernels that work on one line at a time.

#include <algorithm>

#include "kernels/call.h"

namespace trireme::kernels {

// Line i of `count` has its first element at first(i) of the tensor and the others `stride` apart.
struct Lines {
  std::int64_t count = 1, length = 1, stride = 1;

  Lines(const Sizes& shape, std::size_t axis) : length(shape[axis]) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i != axis) count *= shape[i];
      if (i > axis) stride *= shape[i];
    }
  }
  std::int64_t first(std::int64_t i) const { return i / stride * stride * length + i % stride; }
};

// Calls body(begin, end, thread) for ranges of [0, lines). Each range is large enough for a thread
// if a line takes `work` steps.
inline void run_lines(std::int64_t lines, std::int64_t work, device::Device& device,
                      const device::Device::Body& body) {
  constexpr std::int64_t kMinPerThread = 32768;  // steps
  const std::int64_t grain =
      std::max<std::int64_t>(1, kMinPerThread / std::max<std::int64_t>(1, work));
  device.run(lines, grain, lines > grain, body);
}

}  // namespace trireme::kernels
