#pragma once

#include "ir/program.h"

namespace trireme::compiler {

// How many multiplications, additions and other operations on single numbers an op does, as its definition
// says and whatever its kernel does instead: two for each product that is summed up, one for each element
// of an elementwise op's result and for each summand of a reduction, none where numbers are only moved.
// Those of a block are of its own ops.
Dim operations(const ir::Op& op);

}  // namespace trireme::compiler
