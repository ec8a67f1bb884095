#pragma once

// One weight as words of 32 bits.

#include <cstdint>
#include <optional>
#include <vector>

#include "trireme/tensor.h"

namespace trireme::compression {

// A weight as [units, rest], with `axis` of its shape first; axis -1 is one unit.
struct PackedTensor {
  int axis = -1;
  int bits = 1;
  std::int64_t units = 1, rest = 1;
  std::vector<float> table;  // [2^bits], ascending; the rest is 0
  Tensor words, scales;      // u32 [units, words of a unit], f32 [units]

  int codes_of_word() const { return 32 / bits; }
  std::int64_t words_of_unit() const { return words.dim(1); }
  std::int64_t bytes() const;
};

// Empty if the weight, f32, has more different values, is not finite, or would not become smaller.
std::optional<PackedTensor> packed(const Tensor& weight, int axis, int max_bits);

}  // namespace trireme::compression
