#pragma once

// Products of tensors, and functions of matrices. They are composed of ops, so they are
// differentiated and compiled like ops. The ops solve(), cholesky(), slogdet(), eigh(), qr() and
// svd() are in trireme/ops.h. Invalid arguments throw Error(usage) with the function, the caller's
// line and the values.

#include <string_view>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"

namespace trireme {

// The matrix product over the last two axes as numpy.matmul has it: [..., m, k] times [..., k, n]
// is [..., m, n]. The leading axes are broadcast: from the last one on, sizes are equal, 1 or
// missing. A vector a is one row, a vector b one column, and that axis of the result is removed.
// Both are f32 or f64. matmul() is the op for equal leading axes, with transposed operands.
TRIREME_API Value broadcast_matmul(const Value& a, const Value& b,
                                   SourceLocation where = SourceLocation::current());

// The products of all elements of a with all elements of b: [a..., b...].
TRIREME_API Value outer(const Value& a, const Value& b,
                        SourceLocation where = SourceLocation::current());

// Einstein's summation as numpy.einsum has it. Each axis of each operand has a letter; axes with
// one letter have one size, and letters that the result does not have are summed over:
//   einsum("bij,bjk->bik", {a, b})   products of matrices
//   einsum("ii->i", {a})             a diagonal
//   einsum("i,j", {a, b})            an outer product
// Without "->", the result has the letters that occur once, in alphabetical order. "..." stands
// for further axes, which are broadcast and come first in the result unless "->" says where. An
// axis of size 1 is broadcast to the size that its letter has elsewhere. Operands have one numeric
// dtype and are multiplied from left to right; f32 and f64 use matrix products.
TRIREME_API Value einsum(std::string_view equation, const std::vector<Value>& operands,
                         SourceLocation where = SourceLocation::current());

// The inverse of each square matrix of x [..., n, n], f32 or f64, by the op solve(). To solve
// equations, call solve() itself: it is faster and more exact.
// Errors at run time: data, for a singular matrix.
TRIREME_API Value inverse(const Value& x, SourceLocation where = SourceLocation::current());
// The determinant of each of these matrices [...]; 0 for a singular one, whose gradient is
// Error(data) at run time. slogdet() does not overflow.
TRIREME_API Value det(const Value& x, SourceLocation where = SourceLocation::current());

}  // namespace trireme
