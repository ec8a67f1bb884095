#pragma once

#include <cstdint>

#include "ir/program.h"
#include "trireme/tensor.h"

namespace trireme::nn {

// Returns the first value of a parameter according to its initializer. It depends only on the seed
// and the name, type and initializer of the parameter, not on the machine or the rest of the
// Program. Error(usage) for an unknown initializer, or one that does not support the type.
Tensor initialize(const ir::Parameter& parameter, std::uint64_t seed);

}  // namespace trireme::nn
