#pragma once

#include "compiler/lower.h"

namespace trireme::compiler {

// Lowers a group with a contraction. A block of the result, some rows (or pixels) by one or two
// vectors of columns (or channels), stays in accumulators while the sums are computed. The other
// ops of the group are applied to the sums before they are stored. The scheme is from Goto and van
// de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008). It needs no packing,
// because the columns of the second operand are already contiguous.
LoweredGroup lower_contraction(const Group& group, const std::vector<Output>& outputs,
                               const Storages& storages, const codegen::Target& target);

// Whether conv2d or matmul `op` is faster as a generated kernel than in a library.
bool generated_is_faster(const ir::Op& op);

}  // namespace trireme::compiler
