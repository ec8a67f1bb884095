#pragma once

#include "kernel_ir/kernel.h"

namespace trireme::compiler {

// Whether in one pass through the statements every load of an inout buffer comes before the stores to it.
// A load that was done in a block, or in one around it, before, is not done again.
bool loads_before_storing(const kernel_ir::Kernel& kernel);

}  // namespace trireme::compiler
