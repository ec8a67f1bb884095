#pragma once

#include <cstdint>

#include "kernel_ir/kernel.h"

namespace trireme::kernel_ir::testing {

// A valid kernel made from a seed, for comparing what several programs make of it. Its sizes are
// rows and columns; it runs over rows. Every buffer has rows * columns elements, one input and one
// output of each dtype, then an inout f32.
Kernel random_kernel(std::uint64_t seed);

}  // namespace trireme::kernel_ir::testing
