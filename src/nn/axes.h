#pragma once

// Axes of values, for functions that work along them.

#include <cstddef>
#include <cstdint>
#include <string>

#include "nn/layer.h"

namespace trireme::nn {

// Returns `axis`, which is in [-count, count), as a number in [0, count); otherwise Error(usage).
inline std::size_t axis_below(const char* what, const Value& x, std::int64_t axis, int count) {
  if (axis < -count || axis >= count) {
    fail_layer(what, "there is no axis " + std::to_string(axis),
               "axes count from 0; negative axes count from the end", x);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

inline std::size_t axis_in(const char* what, const Value& x, std::int64_t axis) {
  return axis_below(what, x, axis, x.rank());
}

}  // namespace trireme::nn
