#pragma once

#include <cstdint>

#include "ir/program.h"
#include "trireme/tensor.h"

namespace trireme::nn {

// The first value of a parameter as its initializer says. The same for the same seed, name, type
// and initializer, on every machine and whatever else the Program holds.
// Errors (usage): an unknown initializer, or one that does not suit the type.
Tensor initialize(const ir::Parameter& parameter, std::uint64_t seed);

}  // namespace trireme::nn
