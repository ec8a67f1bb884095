#pragma once

// Common code of the ops over sequences, which read concatenated rows and their splits.

#include <array>
#include <utility>

#include "ops/common.h"

namespace trireme::ops {

// Returns the number of rows that operand i, the splits, divides. TypeError if it is not splits.
Dim rows_of_splits(const TypeContext& c, std::size_t i);
// Returns the type of one value per sequence; operand 0 is the rows and operand 1 their splits.
Type type_by_sequence(const TypeContext& c, Numbers numbers);

// Samples: numbers of sequences and numbers of rows.
inline constexpr std::array<std::pair<std::int64_t, std::int64_t>, 6> kSplitSamples = {
    {{5, 17}, {1, 4}, {3, 0}, {0, 0}, {40, 23}, {2, 300}}};
Type splits_type(std::int64_t sequences, std::int64_t rows);
std::vector<Sample> segment_samples();

}  // namespace trireme::ops
