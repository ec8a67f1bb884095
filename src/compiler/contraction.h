#pragma once

#include "compiler/lower.h"

namespace trireme::compiler {

// The kernel of a group with a contraction: a block of the result, some rows (or pixels) by one or
// two vectors of columns (or channels), stays in accumulators while the sums are made, and what the
// group does with the sums is done to them before they are stored. The scheme is that of Goto and
// van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), without packing: the
// second operand has its columns side by side already.
LoweredGroup lower_contraction(const Group& group, const std::vector<Output>& outputs,
                               const Storages& storages, const codegen::Target& target);

// Whether conv2d or matmul `op` is better off as such a kernel than in a library.
bool generated_is_faster(const ir::Op& op);

}  // namespace trireme::compiler
