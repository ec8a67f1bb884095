#pragma once

// What the functions that make Metrics share.

#include <string_view>

#include "trireme/metrics.h"

namespace trireme {

// Error(usage) naming the metric unless logits are floats [..., classes] and label i64[...].
void check_classes(std::string_view metric, Value logits, Value label);
// Error(usage) unless `score` are floats and `label` numbers of the same shape.
void check_pairs(std::string_view metric, Value score, Value label);

// a / b, or 0 where b is 0.
inline double share_of(double a, double b) { return b == 0 ? 0 : a / b; }

}  // namespace trireme
