#pragma once

// For tests: a data set whose examples contain their number.

#include <cstdint>
#include <numeric>
#include <vector>

#include "trireme/data.h"

namespace trireme::data {

// Example i has "id" i and "x" {i, 2 i}; the classes are a and b.
inline Dataset counting(std::int64_t n) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<float> twice;
  for (const std::int64_t id : ids) twice.insert(twice.end(), {id * 1.0f, id * 2.0f});
  return from_tensors(
      {{"id", Tensor::from<std::int64_t>({n}, ids)}, {"x", Tensor::from<float>({n, 2}, twice)}},
      {"a", "b"});
}

}  // namespace trireme::data
