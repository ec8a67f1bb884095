#pragma once

// Positions in tensors: as numbers for reference loops, as kernel IR for lowerings, and helpers on
// Dims for the type rules of ops that move elements.

#include <cstdint>
#include <functional>
#include <vector>

#include "ops/common.h"

namespace trireme::ops {

using Index = std::vector<std::int64_t>;

// Calls `f` for every index of `shape` in row-major order; once with {} for a scalar.
void for_each_index(const Index& shape, const std::function<void(const Index&)>& f);
// Row-major position of `index` in `shape`.
std::int64_t position(const Index& index, const Index& shape);
double& at(RefTensor& tensor, const Index& index);
double at(const RefTensor& tensor, const Index& index);

// Returns whether the terms of the Dim show that it is >= 0 for all sizes of its symbols.
bool never_negative(const Dim& dim);

// Returns `shape` without `axes`, or with 1 in their place if `keep`.
Shape without_axes(const Shape& shape, const std::vector<int>& axes, bool keep);
// Returns the axes in [0, rank) that are not in `axes`, which must be sorted.
std::vector<std::int64_t> other_axes(const std::vector<int>& axes, int rank);

// a / n and a % n for a >= 0 and a constant n > 0. Uses shifts if n is a power of two, because
// vector code has no integer division.
ExprId quotient(Builder& k, ExprId a, std::int64_t n);
ExprId remainder(Builder& k, ExprId a, std::int64_t n);
// low <= a < high
ExprId in_range(Builder& k, ExprId a, ExprId low, ExprId high);

}  // namespace trireme::ops
