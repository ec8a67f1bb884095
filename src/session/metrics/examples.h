#pragma once

// Scores and labels of two classes, kept for metrics that need them in order.

#include <string_view>
#include <utility>
#include <vector>

#include "trireme/metrics.h"

namespace trireme {

// [n, 2] of the dtype of the scores: a value that is joined. Checks as check_pairs().
Value score_label_pairs(std::string_view metric, const Value& score, const Value& label);

// The scores with their labels, rising. Error(data) for a score that is NaN, and a label other than
// 0 and 1.
std::vector<std::pair<double, bool>> sorted_examples(std::string_view metric, const Tensor& all);

}  // namespace trireme
