#pragma once

// The inside of a Shard, for the files that make it up.

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
      : declaration(d), bytes(std::move(b)), rows(options), marks(sources) {}
  std::size_t width() const { return static_cast<std::size_t>(declaration.options.width); }

  const TableDeclaration declaration;
  const std::string bytes;  // of the declaration
  SparseTable rows;
  Marks marks;
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
    bool applied = false;  // though the step as a whole is not yet; ids and values are gone
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

// A request's ids and values; where they are not as they must be in memory, copies, one of each
// thread.
struct Shard::Rows {
  Rows(const Frame& request, std::size_t width);

  StepNumbers numbers;
  std::uint32_t part = 0;
  std::span<const Id> ids;
  std::span<const float> values;
};

// What is to be applied once: ids, so many values for each, and whose numbers tell whether it has
// been.
struct Shard::Once {
  std::span<const Id> ids;
  std::span<const float> values;
  Source::Kind of_sender, of_task;
};

// Whether these numbers can be those of a step. Errors: usage.
void check_numbers(const StepNumbers& numbers);
// Of a table or a parameter. Errors: usage.
void check_number(std::uint32_t number);

}  // namespace trireme::distributed
