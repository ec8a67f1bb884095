#include "data/sequence/splits.h"

#include <fmt/core.h>

#include "base/error.h"

namespace trireme::data {

void check_splits(const char* what, std::span<const std::int64_t> splits, std::size_t ids) {
  if (splits.empty() || splits[0] != 0) {
    fail_data(fmt::format("{}: splits must begin with 0, but {}", what,
                          splits.empty() ? "are empty" : fmt::format("begin with {}", splits[0])));
  }
  for (std::size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] >= splits[i - 1]) continue;
    fail_data(fmt::format("{}: splits must not fall, but splits[{}] is {} after {}", what, i,
                          splits[i], splits[i - 1]));
  }
  if (static_cast<std::size_t>(splits.back()) != ids) {
    fail_data(
        fmt::format("{}: splits end with {}, but there are {} ids", what, splits.back(), ids));
  }
}

}  // namespace trireme::data
