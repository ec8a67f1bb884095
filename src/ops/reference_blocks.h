#pragma once

// The reference loops of ops that hold blocks: as plain as their documentation says them.

#include <functional>
#include <vector>

#include "ops/op.h"

namespace trireme::ops {

// Runs a block: its arguments' values, the sizes of symbols that are known, and the seed of what is
// random in it. Gives its results.
using RunBlock =
    std::function<std::vector<RefTensor>(const ir::Block& block, std::vector<RefTensor> arguments,
                                         const SymbolSizes& sizes, std::uint64_t seed)>;

// The results of an op with blocks.
std::vector<RefTensor> run_with_blocks(const ir::Op& op,
                                       const std::vector<const RefTensor*>& operands,
                                       const SymbolSizes& sizes, std::uint64_t seed,
                                       const RunBlock& run);

}  // namespace trireme::ops
