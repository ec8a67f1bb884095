#pragma once

// The reference loops of ops with blocks. They follow the documentation of the ops literally.

#include <functional>
#include <vector>

#include "ops/op.h"

namespace trireme::ops {

// Runs a block and returns its results. Takes the values of its arguments, the sizes of the known
// symbols, and the seed of its random ops.
using RunBlock =
    std::function<std::vector<RefTensor>(const ir::Block& block, std::vector<RefTensor> arguments,
                                         const SymbolSizes& sizes, std::uint64_t seed)>;

// Returns the results of an op with blocks.
std::vector<RefTensor> run_with_blocks(const ir::Op& op,
                                       const std::vector<const RefTensor*>& operands,
                                       const SymbolSizes& sizes, std::uint64_t seed,
                                       const RunBlock& run);

}  // namespace trireme::ops
