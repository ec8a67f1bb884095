// Memory planning: a place in the arena for every buffer, by lifetime.

#include <algorithm>
#include <numeric>

#include "plan/plan.h"

namespace trireme::plan {

namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// A root buffer of the arena with everything that shares its storage: it lives from the first use
// of any of them to the last.
struct Block {
  int root;
  std::int64_t bytes = 0;
  int first = -1, last = -1;  // steps
  std::int64_t offset = -1;

  void live_at(int from, int to) {
    if (from < 0 || to < 0) return;
    first = first < 0 ? from : std::min(first, from);
    last = std::max(last, to);
  }
  bool meets(const Block& other) const { return first <= other.last && other.first <= last; }
};

std::int64_t bytes_of(const Buffer& buffer, const SymbolSizes& sizes) {
  return product(buffer.shape).evaluate(sizes) * static_cast<std::int64_t>(size_of(buffer.dtype));
}

// The lowest offset at which `block` meets none of the blocks already placed; `placed` is sorted by
// offset.
std::int64_t lowest_free(const Block& block, const std::vector<const Block*>& placed) {
  std::int64_t offset = 0;
  for (const Block* other : placed) {
    if (!block.meets(*other)) continue;
    if (offset + block.bytes <= other->offset) break;
    offset = std::max(offset, other->offset + other->bytes);
  }
  return offset;
}

void place_shared(std::vector<Block>& blocks) {
  std::vector<Block*> order;
  for (Block& block : blocks) {
    if (block.first >= 0) order.push_back(&block);
  }
  std::sort(order.begin(), order.end(), [](const Block* a, const Block* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->root < b->root;
  });
  std::vector<const Block*> placed;
  for (Block* block : order) {
    block->offset = lowest_free(*block, placed);
    const auto after =
        std::upper_bound(placed.begin(), placed.end(), block,
                         [](const Block* a, const Block* b) { return a->offset < b->offset; });
    placed.insert(after, block);
  }
}

void place_apart(std::vector<Block>& blocks) {
  std::int64_t offset = 0;
  for (Block& block : blocks) {
    if (block.first < 0) continue;
    block.offset = offset;
    offset += block.bytes;
  }
}

// An alias that a step writes is a value of its own (an in-place result); a reshape is not.
std::vector<bool> written_buffers(const Plan& plan) {
  std::vector<bool> written(plan.buffers.size(), false);
  for (const Step& step : plan.steps) {
    for (const int buffer : step.writes) written[static_cast<std::size_t>(buffer)] = true;
  }
  return written;
}

}  // namespace

Placement place(const Plan& plan, const SymbolSizes& sizes, bool share) {
  const std::size_t count = plan.buffers.size();
  const std::vector<bool> written = written_buffers(plan);
  Placement result;
  result.offsets.assign(count, -1);
  std::vector<Block> blocks;
  std::vector<int> block_of(count, -1);
  for (std::size_t i = 0; i < count; ++i) {
    const Buffer& buffer = plan.buffers[i];
    const int root = root_of(plan, static_cast<int>(i));
    if (plan.buffers[static_cast<std::size_t>(root)].kind != BufferKind::arena) continue;
    int& block = block_of[static_cast<std::size_t>(root)];
    if (block < 0) {
      block = static_cast<int>(blocks.size());
      blocks.push_back({.root = root});
    }
    const std::int64_t bytes = aligned(bytes_of(buffer, sizes));
    Block& storage = blocks[static_cast<std::size_t>(block)];
    storage.bytes = std::max(storage.bytes, bytes);
    storage.live_at(buffer.first_step, buffer.last_step);
    if (written[i] || (buffer.alias_of < 0 && buffer.first_step >= 0)) {
      result.sum_of_values += bytes;
    }
  }
  if (share) {
    place_shared(blocks);
  } else {
    place_apart(blocks);
  }
  for (const Block& block : blocks) {
    if (block.offset >= 0) {
      result.arena_bytes = std::max(result.arena_bytes, block.offset + block.bytes);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const int root = root_of(plan, static_cast<int>(i));
    const int block = block_of[static_cast<std::size_t>(root)];
    if (block >= 0) result.offsets[i] = blocks[static_cast<std::size_t>(block)].offset;
  }
  return result;
}

}  // namespace trireme::plan
