#pragma once

// Common to the functions that make Metrics.

#include <string_view>

#include "trireme/metrics.h"

namespace trireme {

// Checks that logits are floats [..., classes] and label is i64[...]. Error(usage) with the metric
// if not.
void check_classes(std::string_view metric, Value logits, Value label);
// Checks that `score` are floats and `label` numbers of the same shape. Error(usage) if not.
void check_pairs(std::string_view metric, Value score, Value label);
// Checks that both are floats of one shape. Error(usage) if not.
void check_numbers(std::string_view metric, Value predicted, Value target);

// f32[classes, classes]: the numbers of examples by true and predicted class. check_classes() has
// been called, and classes are known.
Value confusion_counts(Value logits, Value label, const LabelOptions& options,
                       const SourceLocation& where);

// Returns a / b, or 0 where b is 0.
inline double share_of(double a, double b) { return b == 0 ? 0 : a / b; }

}  // namespace trireme
