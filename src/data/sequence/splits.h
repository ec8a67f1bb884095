#pragma once

#include <cstdint>
#include <span>

namespace trireme::data {

// Error(data) that begins with `what`, unless splits begin with 0, never fall and end with `ids`.
void check_splits(const char* what, std::span<const std::int64_t> splits, std::size_t ids);

}  // namespace trireme::data
