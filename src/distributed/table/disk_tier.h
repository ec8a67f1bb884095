#pragma once

// Cold rows in RocksDB: a map from hashes to records (docs/reference/formats/table.md). Holds what
// does not fit into memory; it is no checkpoint, so nothing is synced. Threads may call at once.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/table/options.h"

namespace trireme::distributed {

class DiskTier {
 public:
  // Cold rows that lie there already are deleted. Errors: not_found, if the parent of the folder is
  // not there; usage, if it holds something else; io.
  DiskTier(const std::string& table, const DiskOptions& options);
  ~DiskTier();

  struct Write {
    std::uint64_t hash;
    std::string_view record;  // empty: to be deleted
  };
  // All or nothing. Errors: NoSpace; io; what was written before can still be read.
  void write(std::span<const Write> writes);
  // Whether the last write found no room.
  bool is_full() const;
  // Deletes hashes in [first, last], both included. Errors: as write().
  void erase_range(std::uint64_t first, std::uint64_t last);
  // One MultiGet; the hashes rise. Errors: io; data, for one that is not there, or, with `all`
  // false, "" for it.
  std::vector<std::string> read(std::span<const std::uint64_t> hashes, bool all = true) const;

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

}  // namespace trireme::distributed
