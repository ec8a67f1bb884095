#include "distributed/server/spread.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "distributed/table/slots.h"

namespace trireme::distributed {

std::vector<DenseBlockPlace> cut_into_blocks(std::uint32_t parameter, std::int64_t rows,
                                             std::int64_t columns) {
  const std::int64_t row_bytes = 4 * columns;
  const std::int64_t step = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(kBlockBytes) / std::max<std::int64_t>(row_bytes, 1));
  std::vector<DenseBlockPlace> blocks;
  for (std::int64_t first = 0; first < rows; first += step) {
    const std::int64_t last = std::min(rows, first + step);
    blocks.push_back({parameter, static_cast<std::uint32_t>(blocks.size()), first, last,
                      static_cast<std::uint64_t>((last - first) * row_bytes)});
  }
  return blocks;
}

std::size_t floats_of_block(std::int64_t rows, std::int64_t columns, std::uint32_t block) {
  const std::vector<DenseBlockPlace> places = cut_into_blocks(0, rows, columns);
  if (block >= places.size()) fail_data("a block that its dense parameter does not have");
  return static_cast<std::size_t>((places[block].last - places[block].first) * columns);
}

std::vector<int> spread_by_size(const std::vector<DenseBlockPlace>& blocks, int servers) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return blocks[a].bytes > blocks[b].bytes || (blocks[a].bytes == blocks[b].bytes && a < b);
  });
  std::vector<std::uint64_t> load(static_cast<std::size_t>(servers));
  std::vector<int> places(blocks.size());
  for (const std::size_t i : order) {
    const auto lowest = std::min_element(load.begin(), load.end());
    *lowest += blocks[i].bytes;
    places[i] = static_cast<int>(lowest - load.begin());
  }
  return places;
}

std::vector<int> spread_round_robin(const std::vector<DenseBlockPlace>& blocks, int servers) {
  std::vector<int> places(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    places[i] = static_cast<int>(i % static_cast<std::size_t>(servers));
  }
  return places;
}

std::vector<int> spread_by_hash(const std::vector<DenseBlockPlace>& blocks, int servers) {
  std::vector<int> places;
  for (const DenseBlockPlace& block : blocks) {
    const std::uint64_t hash = hash_of(std::uint64_t{block.parameter} << 32 | block.block);
    places.push_back(static_cast<int>(hash % static_cast<std::uint64_t>(servers)));
  }
  return places;
}

}  // namespace trireme::distributed
