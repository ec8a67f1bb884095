#pragma once

// For tests: random numbers.

#include <cstdint>
#include <vector>

#include "trireme/tensor.h"

namespace trireme {

// Returns f32 in [low, high): equal on every machine for one seed, different for other seeds.
inline Tensor noise(const std::vector<std::int64_t>& shape, unsigned seed, double low = -1,
                    double high = 1) {
  Tensor tensor(f32, shape);
  unsigned state = seed * 2654435761u + 12345u;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    tensor.data<float>()[i] = static_cast<float>(low + (high - low) * (state >> 8) * 0x1p-24);
  }
  return tensor;
}

}  // namespace trireme
