#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trireme/data.h"

namespace trireme::data {

// The columns of a batch of so many examples, in the order of their names, without ids and words.
// Errors: usage, beginning with `who`, if a column has another number of examples or is a scalar; for
// splits that are none or belong to no column.
std::vector<Column> columns_of(const Batch& batch, std::int64_t examples, const std::string& who);

// from_tensors() with ids and words, and in this order; dtype, shape and levels are the tensor's own. The splits
// of a ragged column are an entry of their name.
// Errors: usage, also for two columns of one name.
Dataset from_columns(std::vector<std::pair<Column, Tensor>> columns,
                     std::vector<std::string> class_names = {});

}  // namespace trireme::data
