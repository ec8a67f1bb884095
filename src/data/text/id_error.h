#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace trireme::text {

// An unknown id. `place` is its position in a list, -1 for a single id.
[[noreturn]] inline void fail_id(std::int64_t id, std::int64_t size, const std::string& of,
                                 std::int64_t place = -1) {
  const std::string where = place < 0 ? "" : " at place " + std::to_string(place);
  const std::string range =
      size == 0 ? "there are none" : "they are 0 to " + std::to_string(size - 1);
  fail_data("id " + std::to_string(id) + where + " is out of range: of " + of + ", " + range);
}

}  // namespace trireme::text
