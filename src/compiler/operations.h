#pragma once

#include "ir/program.h"

namespace trireme::compiler {

// Returns how many operations on single numbers an op does according to its definition, whatever
// its kernel does instead. Counts two for each product that is summed, one for each element of the
// result of an elementwise op, one for each summand of a reduction, and none for moved elements.
// Operations of a block belong to the ops in the block.
Dim operations(const ir::Op& op);

}  // namespace trireme::compiler
