#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trireme/data.h"

namespace trireme::data {

// Returns the columns of a batch with this number of examples, sorted by name, without ids and
// words. Errors: usage, beginning with `who`, if a column has another number of examples or is a
// scalar; for splits that are none or belong to no column.
std::vector<Column> columns_of(const Batch& batch, std::int64_t examples, const std::string& who);

// from_tensors() with ids and words, in this order. Dtype, shape and levels come from the tensor.
// The splits of a ragged column are an entry with their name. Errors: usage, also for two columns
// of one name.
Dataset from_columns(std::vector<std::pair<Column, Tensor>> columns,
                     std::vector<std::string> class_names = {});

}  // namespace trireme::data
