#pragma once

#include <cstdint>

namespace trireme::kernels {

// Error(data), naming the kernel and the place, unless splits[0] is 0, no one is less than the one
// before, and splits[sequences] is `rows`.
void check_splits(const char* kernel, const std::int64_t* splits, std::int64_t sequences,
                  std::int64_t rows);

}  // namespace trireme::kernels
