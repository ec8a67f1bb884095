#pragma once

// Cold rows in RocksDB: a map from hashes to records (docs/reference/formats/table.md). Contains
// the rows that do not fit into memory. It is no checkpoint, so nothing is synced. Thread-safe.

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
  // Deletes existing cold rows in the folder. Errors: not_found if the parent of the folder is
  // missing; usage if the folder contains something else; io.
  DiskTier(const std::string& table, const DiskOptions& options);
  ~DiskTier();

  struct Write {
    std::uint64_t hash;
    std::string_view record;  // empty: delete it
  };
  // Writes all or nothing. Errors: NoSpace; io. Earlier rows stay readable.
  void write(std::span<const Write> writes);
  // Returns whether the last write failed because the disk was full.
  bool is_full() const;
  // Deletes hashes from first to last, inclusive. Errors: as write().
  void erase_range(std::uint64_t first, std::uint64_t last);
  // One MultiGet of ascending hashes. Errors: io; data for a missing one if `all` is true,
  // otherwise its result is "".
  std::vector<std::string> read(std::span<const std::uint64_t> hashes, bool all = true) const;

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

}  // namespace trireme::distributed
