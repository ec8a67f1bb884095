#pragma once

// The parts of a Shard, for its files.

#include <array>
#include <tuple>

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

// Gradients that wait until all members have finished their step.
struct Shard::Held {
  struct Rows {
    StepNumbers numbers;
    std::vector<Id> ids;
    std::vector<float> values;
    bool applied = false;  // although the whole step is not; ids and values are removed
  };
  struct Block {
    StepNumbers numbers;
    std::vector<float> gradient;
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Rows>
      rows;  // table, rank, part
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Block>
      blocks;  // parameter, block, rank
  std::uint64_t bytes = 0;
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
