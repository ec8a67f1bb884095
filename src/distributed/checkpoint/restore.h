#pragma once

// Restores checkpoints into any number of servers: each server reads its slots and rows from all
// parts that contain some of them.
//
// All servers must restore the same checkpoint. So the master calls damage() on each, chooses the
// newest checkpoint that is undamaged for all, calls load() on all, and rewinds the catalog to it.
// If one process has all tables, restore() does this.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "distributed/checkpoint/catalog.h"
#include "distributed/checkpoint/part.h"
#include "distributed/checkpoint/writer.h"

namespace trireme::distributed::checkpoint {

// The destination of rows of a dense parameter.
struct DenseTarget {
  DenseRange range;
  // Writes bytes from `offset` of the range on, in any order.
  std::function<void(std::uint64_t offset, std::string_view bytes)> write;
};

// The share of one server.
struct Share {
  std::vector<TableSlots> tables;
  std::vector<DenseTarget> dense;
};

struct Loaded {
  Manifest manifest;
  std::uint64_t rows = 0;   // inserted into tables; a row that changed in a delta counts again
  std::uint64_t bytes = 0;  // of parts
};

// Reads everything that the share needs from a checkpoint and its bases, and checks every byte.
// Returns what is damaged or missing; nothing if it can be loaded. Errors: usage for a table or a
// parameter that is missing or has another layout.
std::optional<std::string> damage(const Catalog& catalog, const std::vector<Committed>& list,
                                  std::int64_t id, const Share& share);

// Replaces the rows of the tables in these slots; their clocks continue from the checkpoint. No
// other code may use the tables meanwhile, and a Writer that has seen them must forget() the slots.
// Errors: Damaged, and then the slots are empty; usage; those of SparseTable.
Loaded load(const Catalog& catalog, const std::vector<Committed>& list, std::int64_t id,
            const Share& share);

struct PassedOver {
  std::int64_t id = 0;
  std::string reason;
};
struct Restored : Loaded {
  std::vector<PassedOver> passed_over;  // newer, damaged checkpoints
};
// Restores the newest intact checkpoint; returns nothing if there is no checkpoint. Does not rewind
// the catalog. Errors: data with all reasons if all are damaged; as load().
std::optional<Restored> restore(Catalog& catalog, const Share& share);

}  // namespace trireme::distributed::checkpoint
