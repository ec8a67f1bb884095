#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trireme/data.h"

namespace trireme::data {

// from_tensors() with ids and words, and in this order; dtype and shape are the tensor's own.
// Errors: usage, also for two columns of one name.
Dataset from_columns(std::vector<std::pair<Column, Tensor>> columns,
                     std::vector<std::string> class_names = {});

}  // namespace trireme::data
