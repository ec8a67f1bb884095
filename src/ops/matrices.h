#pragma once

// Stacks of matrices [..., m, n], for ops of linear algebra.

#include <functional>
#include <vector>

#include "ops/common.h"

namespace trireme::ops {

// TypeError unless x is f32 or f64 [..., m, n], for `square` with m = n.
void require_matrices(const char* op, const TypeContext& c, int operand, bool square);
// Returns the leading axes of a stack, followed by these.
Shape with_matrix(const Shape& stack, const Shape& matrix);

// Rules for ops whose operands are stacks with the same leading axes.
bool matrices_row_wise(const ir::Op& op, const std::vector<bool>& rows);
std::vector<int> matrix_axes(const ir::Op& op);  // mixed_axes: the last two

// One row-major matrix in a reference loop.
struct Matrix {
  double* data;
  std::int64_t rows, columns;
  double& operator()(std::int64_t i, std::int64_t j) const { return data[i * columns + j]; }
};
// Calls f with matrix i of every operand (copies) and of every result (in place). Results of one
// element or one row have 1 row. If f returns false, throws Error(data) with `failure`.
using MatrixLoop =
    std::function<bool(const std::vector<Matrix>& operands, const std::vector<Matrix>& results)>;
std::function<void(const Reference&)> matrix_reference(const char* failure, MatrixLoop f,
                                                       std::vector<int> result_axes);

// Gradients.
Value transposed(const Value& x);  // of the last two axes
Value symmetric_part(const Value& x);
// Returns x with `factor` times its diagonal and zeros above it; x is square.
Value lower_part(const Value& x, double factor);
// Returns a with the axes [..., n] as matrices [..., 1, n].
Value as_rows(const Value& a);

}  // namespace trireme::ops
