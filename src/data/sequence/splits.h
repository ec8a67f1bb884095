#pragma once

#include <cstdint>
#include <span>

namespace trireme::data {

// Checks that splits begin with 0, never decrease and end with `ids`. Error(data) beginning with
// `what` if not.
void check_splits(const char* what, std::span<const std::int64_t> splits, std::size_t ids);

}  // namespace trireme::data
