#pragma once

#include <cstdint>
#include <string>

#include "trireme/dtype.h"

namespace trireme::runtime {

// Returns "" if all numbers in `bytes` bytes at `data` are finite, or are no floats. Otherwise
// describes the first one that is not: "nan at element 12".
std::string first_not_finite(DType dtype, const void* data, std::int64_t bytes);

}  // namespace trireme::runtime
