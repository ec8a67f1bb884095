#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trireme/data.h"

namespace trireme::data {

// Examples [begin, end) of a batch with these columns; shares memory.
Batch slice_of(const Batch& batch, const std::vector<Column>& columns, std::int64_t begin,
               std::int64_t end);

// These rows of a tensor, in this order, in new memory.
Tensor gathered_rows(const Tensor& tensor, std::span<const std::int64_t> rows);

// The examples of these batches, in this order, in new memory unless there is only one batch. All
// have the columns. At least one.
Batch joined_batches(const std::vector<Batch>& batches, const std::vector<Column>& columns);

// These examples of a batch, in this order, in new memory.
Batch gathered(const Batch& batch, const std::vector<Column>& columns,
               std::span<const std::int64_t> rows);

// How the columns differ in names, dtypes, shapes or levels, for messages; empty if they do not.
// The order of the columns does not count.
std::string difference_of(const std::vector<Column>& columns, const std::vector<Column>& others);

}  // namespace trireme::data
