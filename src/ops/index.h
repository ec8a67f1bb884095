#pragma once

// Positions in tensors: for reference loops in plain numbers, for lowerings in kernel IR, and what
// type rules of moving ops must know of Dims.

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

// Whether the Dim is >= 0 for every size of its symbols, as far as its terms show.
bool never_negative(const Dim& dim);

// `shape` without `axes`, or with 1 in their place.
Shape without_axes(const Shape& shape, const std::vector<int>& axes, bool keep);
// The axes in [0, rank) that are not in `axes`, which is sorted.
std::vector<std::int64_t> other_axes(const std::vector<int>& axes, int rank);

// a / n and a % n for a >= 0 and a constant n > 0; by shifts where n is a power of two, since
// vector code has no integer division.
ExprId quotient(Builder& k, ExprId a, std::int64_t n);
ExprId remainder(Builder& k, ExprId a, std::int64_t n);
// low <= a < high
ExprId in_range(Builder& k, ExprId a, ExprId low, ExprId high);

}  // namespace trireme::ops
