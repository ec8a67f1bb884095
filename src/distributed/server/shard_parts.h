#pragma once

// The parts of a Shard, for its files.

#include <array>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "distributed/server/shard.h"

namespace trireme::distributed {

struct Shard::Counters {
  std::atomic<std::uint64_t> lookups{0}, pushes{0}, rows_read{0}, rows_pushed{0}, duplicates{0},
      wrong_map{0}, stale{0}, steps{0};
  std::array<std::array<std::atomic<std::uint64_t>, kCodes>, kOps> requests{};

  void count(std::uint8_t op, Code code) {
    ++requests[op < kOps ? op : 0][static_cast<std::size_t>(code)];
  }
};

struct Shard::Table {
  Table(const TableDeclaration& d, std::string b, const TableOptions& options, std::size_t sources)
      : declaration(d), bytes(std::move(b)), rows(options), dedup(sources) {}
  std::size_t width() const { return static_cast<std::size_t>(declaration.options.width); }

  const TableDeclaration declaration;
  const std::string bytes;  // of the declaration
  SparseTable rows;
  DedupTable dedup;
};

struct Shard::Dense {
  DenseDeclaration declaration;
  std::string bytes;
  std::map<std::uint32_t, std::shared_ptr<DenseBlock>> blocks;  // those that are here
};

// Gradients of a step that not all members have finished: sums in the order of ranks, so that the
// bits do not depend on the order of arrival. Gradients of the first member that has not finished
// are added at their arrival; those of later members wait until it has.
struct Shard::Held {
  // Rows of a table; an id is in it once.
  struct Rows {
    StepNumbers numbers;
    std::vector<Id> ids;
    std::vector<float> values;
    std::unordered_map<Id, std::size_t> places;  // of the ids
    bool scaled = false;                         // to the mean; only before it is applied
    bool applied = false;  // although the whole step is not; ids and values are removed
  };
  struct Block {
    StepNumbers numbers;
    std::vector<float> gradient;
  };
  // Keys of arrived gradients: table, rank and part; parameter, block and rank.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  std::set<Key> arrived_rows, arrived_blocks;
  std::map<std::uint32_t, Rows> rows;                               // sums by table
  std::map<std::pair<std::uint32_t, std::uint32_t>, Block> blocks;  // sums by parameter and block
  // Gradients that wait for lower ranks: by rank, table and part; by rank, parameter and block.
  std::map<Key, Rows> early_rows;
  std::map<Key, Block> early_blocks;
  std::uint64_t bytes = 0, early_bytes = 0;  // of sums, and of waiting gradients

  // Adds them to the sums.
  void add_rows(std::uint32_t table, const StepNumbers& numbers, std::span<const Id> ids,
                std::span<const float> values);
  void add_block(std::uint32_t parameter, std::uint32_t block, const StepNumbers& numbers,
                 std::span<const float> gradient);
  // Adds waiting gradients of ranks up to this one; all lower ranks have finished the step.
  void add_early(std::uint32_t rank);
};

// The ids and values of a request; unaligned ones are copied to memory of the thread.
struct Shard::Rows {
  Rows(const Frame& request, std::size_t width);

  StepNumbers numbers;
  std::uint32_t part = 0;
  std::span<const Id> ids;
  std::span<const float> values;
};

// Rows to apply once: ids, values for each, and the numbers that show whether they were applied.
struct Shard::Once {
  std::span<const Id> ids;
  std::span<const float> values;
  Source::Kind of_sender, of_task;
};

// Checks the numbers of a step. Errors: usage.
void check_numbers(const StepNumbers& numbers);
// Checks the number of a table or a parameter. Errors: usage.
void check_number(std::uint32_t number);

}  // namespace trireme::distributed
