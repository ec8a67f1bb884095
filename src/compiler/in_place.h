#pragma once

#include "kernel_ir/kernel.h"

namespace trireme::compiler {

// Whether, in one pass through the statements, every load of an inout buffer comes before the
// stores to it. A load that was already evaluated in the same or an enclosing block is not
// repeated.
bool loads_before_storing(const kernel_ir::Kernel& kernel);

}  // namespace trireme::compiler
