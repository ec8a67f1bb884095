#pragma once

// From checkpoints back into servers, whatever their number: each takes the slots and rows that are
// its own from all parts that have some of them.
//
// All servers must take the same checkpoint. So the master asks each of them for damage(), chooses
// the newest checkpoint to which none objects, tells all to load() it, and rewinds the catalog to
// it. Where one process has all, restore() does so.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "distributed/checkpoint/catalog.h"
#include "distributed/checkpoint/part.h"
#include "distributed/checkpoint/writer.h"

namespace trireme::distributed::checkpoint {

// Where rows of a dense parameter go.
struct DenseTarget {
  DenseRange range;
  // Bytes from `offset` of the range on, in any order.
  std::function<void(std::uint64_t offset, std::string_view bytes)> write;
};

// What one server takes.
struct Share {
  std::vector<TableSlots> tables;
  std::vector<DenseTarget> dense;
};

struct Loaded {
  Manifest manifest;
  std::uint64_t rows = 0;   // of tables, put in; one that changed in a delta counts again
  std::uint64_t bytes = 0;  // of parts
};

// Reads all that the share needs of a checkpoint, and of those that it stands on, and checks every
// byte. Says what is damaged or missing; nothing, if it can be loaded. Errors: usage, for a table
// or a parameter that is not in it or is of another layout.
std::optional<std::string> damage(const Catalog& catalog, const std::vector<Committed>& list,
                                  std::int64_t id, const Share& share);

// Puts it in place of what the tables have in these slots; their clocks go on where they were.
// Nothing else may use the tables meanwhile, and a Writer that has seen them must forget() the
// slots. Errors: Damaged, and then the slots are empty; usage; those of SparseTable.
Loaded load(const Catalog& catalog, const std::vector<Committed>& list, std::int64_t id,
            const Share& share);

struct PassedOver {
  std::int64_t id = 0;
  std::string reason;
};
struct Restored : Loaded {
  std::vector<PassedOver> passed_over;  // newer ones that are damaged
};
// The newest checkpoint that is whole; nothing, if there is none at all. The catalog is not
// rewound. Errors: data, with all reasons, if all are damaged; as load().
std::optional<Restored> restore(Catalog& catalog, const Share& share);

}  // namespace trireme::distributed::checkpoint
