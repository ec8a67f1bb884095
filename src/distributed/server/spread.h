#pragma once

// The server of each block of dense parameters.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace trireme::distributed {

// Whole rows of a parameter, as many as fit into kBlockBytes, at least one.
struct DenseBlockPlace {
  std::uint32_t parameter = 0, block = 0;
  std::int64_t first = 0, last = 0;  // rows
  std::uint64_t bytes = 0;
};
inline constexpr std::uint64_t kBlockBytes = 256u << 10;
std::vector<DenseBlockPlace> cut_into_blocks(std::uint32_t parameter, std::int64_t rows,
                                             std::int64_t columns);

// The number of floats of a block. Errors: data for an unknown block.
std::size_t floats_of_block(std::int64_t rows, std::int64_t columns, std::uint32_t block);

// Returns the server of each block. All processes of a job use the same function on the same blocks
// in the same order.
using Spread =
    std::function<std::vector<int>(const std::vector<DenseBlockPlace>& blocks, int servers)>;

// The largest first, each to the server with the least.
std::vector<int> spread_by_size(const std::vector<DenseBlockPlace>& blocks, int servers);
// In turn.
std::vector<int> spread_round_robin(const std::vector<DenseBlockPlace>& blocks, int servers);
// By a hash of the parameter and the block, independent of other blocks.
std::vector<int> spread_by_hash(const std::vector<DenseBlockPlace>& blocks, int servers);

}  // namespace trireme::distributed
