#pragma once

// Rows of a table on servers that a trainer trains on its own for a while (geo): fetched when they
// are first needed, changed here, and what has changed is told to the servers at the end.

#include <span>
#include <unordered_map>
#include <vector>

#include "distributed/table/table.h"

namespace trireme::distributed {

// Used by one thread.
class LocalRows {
 public:
  // `options` as the servers have them. The optimizer's state stays here from one while to the
  // next.
  explicit LocalRows(TableOptions options);

  // Those that have not been fetched since reset(), each once.
  std::vector<Id> missing(std::span<const Id> ids) const;
  // Their rows, as servers have them.
  void put(std::span<const Id> ids, const float* rows);
  // As SparseTable, on ids that are here.
  void lookup(std::span<const Id> ids, float* rows);
  void update(std::span<const Id> ids, const float* gradients, const UpdateStep& step);

  // What has been added to rows since they were put; those that did not change are not in it.
  struct Deltas {
    std::vector<Id> ids;
    std::vector<float> values;
  };
  Deltas deltas();
  // Rows are to be fetched again.
  void reset();

 private:
  std::size_t width() const { return static_cast<std::size_t>(table_.options().width); }

  SparseTable table_;
  std::unordered_map<Id, std::size_t> places_;  // in ids_
  std::vector<Id> ids_;
  std::vector<float> base_;  // rows as they were put
};

}  // namespace trireme::distributed
