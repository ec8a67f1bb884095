#pragma once

// Rows of a table on servers that a trainer trains locally for some steps (mode geo). They are
// fetched at their first use and changed here. At the end, the changes are pushed to the servers.

#include <span>
#include <unordered_map>
#include <vector>

#include "distributed/table/table.h"

namespace trireme::distributed {

// For one thread.
class LocalRows {
 public:
  // `options` as on the servers. The state of the optimizer stays here between tasks.
  explicit LocalRows(TableOptions options);

  // Returns the ids that were not fetched since reset(), each once.
  std::vector<Id> missing(std::span<const Id> ids) const;
  // Stores their rows as the servers have them.
  void put(std::span<const Id> ids, const float* rows);
  // As SparseTable, for ids that are here.
  void lookup(std::span<const Id> ids, float* rows);
  void update(std::span<const Id> ids, const float* gradients, const UpdateStep& step);

  // The sum of the changes of each row since put(), without rows that did not change.
  struct Deltas {
    std::vector<Id> ids;
    std::vector<float> values;
  };
  Deltas deltas();
  // Forgets all rows, so that they are fetched again.
  void reset();

 private:
  std::size_t width() const { return static_cast<std::size_t>(table_.options().width); }

  SparseTable table_;
  std::unordered_map<Id, std::size_t> places_;  // in ids_
  std::vector<Id> ids_;
  std::vector<float> base_;  // the rows as put() stored them
};

}  // namespace trireme::distributed
