#include "data/columns.h"

#include <set>

#include "base/error.h"

namespace trireme::data {

std::int64_t examples_in(const Batch& batch) {
  if (batch.empty()) return 0;
  // The first entry is no column's splits: those follow their column.
  const auto& [name, tensor] = *batch.begin();
  const int levels = levels_in(batch, name);
  const Tensor& counted = levels > 0 ? batch.at(splits_name(name, 0, levels)) : tensor;
  if (counted.rank() == 0) return 0;
  return counted.dim(0) - (levels > 0 ? 1 : 0);
}

std::vector<Column> columns_of(const Batch& batch, std::int64_t examples, const std::string& who) {
  std::vector<Column> columns;
  std::set<std::string> splits;  // of the columns so far
  for (const auto& [name, tensor] : batch) {
    if (splits.contains(name)) continue;
    if (is_splits_name(name)) {
      fail_usage(who + ": \"" + name +
                 "\" is called as the splits of a column are, but belongs to none");
    }
    if (tensor.rank() == 0) fail_usage(who + ": column " + name + " is a scalar");
    const std::vector<std::int64_t>& shape = tensor.shape();
    Column column{.name = name, .dtype = tensor.dtype(), .shape = {shape.begin() + 1, shape.end()}};
    column.levels = levels_in(batch, name);
    std::string type = tensor.type_str();
    std::int64_t count = tensor.dim(0);
    if (column.levels > 0) {
      const RaggedTensor ragged = RaggedTensor::from_feeds(batch, name);
      type = ragged.type_str();
      count = ragged.size();
      for (int level = 0; level < column.levels; ++level) {
        splits.insert(splits_name(name, level, column.levels));
      }
    }
    if (count != examples) {
      fail_usage(who + ": column " + name + " is " + type + ", " + std::to_string(count) +
                 " examples, but there are " + std::to_string(examples));
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace trireme::data
