#pragma once

// What the ops over sequences share: rows that lie behind each other, and their splits.

#include <array>
#include <utility>

#include "ops/common.h"

namespace trireme::ops {

// The number of rows that operand i of an op, splits, packs. TypeError if it is no splits.
Dim rows_of_splits(const TypeContext& c, std::size_t i);
// The type of a value for each sequence, where operand 0 is rows and operand 1 their splits.
Type type_by_sequence(const TypeContext& c, Numbers numbers);

// Samples: numbers of sequences and of their rows.
inline constexpr std::array<std::pair<std::int64_t, std::int64_t>, 6> kSplitSamples = {
    {{5, 17}, {1, 4}, {3, 0}, {0, 0}, {40, 23}, {2, 300}}};
Type splits_type(std::int64_t sequences, std::int64_t rows);
std::vector<Sample> segment_samples();

}  // namespace trireme::ops
