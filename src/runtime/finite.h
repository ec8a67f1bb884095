#pragma once

#include <cstdint>
#include <string>

#include "trireme/dtype.h"

namespace trireme::runtime {

// "" if all `bytes` at `data` are finite numbers (or no floats at all); else what the first one that
// is not is, and where: "nan at element 12".
std::string first_not_finite(DType dtype, const void* data, std::int64_t bytes);

}  // namespace trireme::runtime
