#pragma once

#include <cstdint>

namespace trireme::kernels {

// Checks that splits[0] is 0, that splits never decrease, and that splits[sequences] is `rows`.
// Error(data) with the kernel and the position if not.
void check_splits(const char* kernel, const std::int64_t* splits, std::int64_t sequences,
                  std::int64_t rows);

}  // namespace trireme::kernels
