#pragma once

// Statistics, norms and elementwise functions that are composed of ops, so they are differentiated
// and compiled like ops. x is f32 or f64 unless stated otherwise. Negative axes count from the end.
// Invalid arguments throw Error(usage) with the function, the caller's line and the value.

#include <cstdint>
#include <vector>

#include "trireme/export.h"
#include "trireme/functions.h"
#include "trireme/program.h"
#include "trireme/shorthand.h"

namespace trireme {

// --- Statistics -------------------------------------------------------------------------------

struct VarianceOptions {
  std::vector<std::int64_t> axes = {};  // empty: all
  bool keep = false;                    // keep these axes with size 1
  double ddof = 0;  // the sum of squares is divided by n - ddof; 1: the unbiased estimate
};
// The mean squared distance from the mean, in two passes, so that a large mean costs no digits.
// NaN if n <= ddof.
TRIREME_API Value variance(const Value& x, const VarianceOptions& options = {},
                           SourceLocation where = SourceLocation::current());
// Its root. The gradient is 0 where the variance is 0.
TRIREME_API Value stddev(const Value& x, const VarianceOptions& options = {},
                         SourceLocation where = SourceLocation::current());

// log(sum(exp(x))) without overflow. -inf if all elements are -inf or there are none, inf if one is
// inf. The gradient is softmax(x), and 0 where the result is not finite.
TRIREME_API Value logsumexp(const Value& x, const NormOptions& options = {},
                            SourceLocation where = SourceLocation::current());

// The vector norm sum(|x|^p)^(1/p) for p > 0, without overflow of the powers. p = infinity is the
// largest |x|, -infinity the smallest, and 0 counts the elements that are not 0. The gradient is 0
// where the norm is 0.
TRIREME_API Value vector_norm(const Value& x, double p, const NormOptions& options = {},
                              SourceLocation where = SourceLocation::current());

// The cumulative product along an axis of constant size n. The gradient is right for elements that
// are 0, too. The work grows with n squared. x has any numeric dtype.
TRIREME_API Value cumprod(const Value& x, int axis = -1,
                          SourceLocation where = SourceLocation::current());

// The i64 positions at which `values` of any shape would be inserted into `sorted` [n], which is in
// ascending order, to keep that order: before equal elements, or after them if `right`. NaN counts
// as larger than every number. Both have one numeric dtype. All n elements are compared at once.
TRIREME_API Value searchsorted(const Value& sorted, const Value& values, bool right = false,
                               SourceLocation where = SourceLocation::current());

// The distinct elements of a vector x [n], ascending. Their number is known only at run time, so
// `values` and `counts` have n elements: from place `size` on, values repeats the largest element
// and counts is 0. NaN equals NaN. x has any numeric dtype.
struct Unique {
  Value values;   // [n]
  Value counts;   // i64[n]: how often each occurs in x
  Value inverse;  // i64[n]: x[i] is values[inverse[i]]
  Value size;     // i64[]
};
TRIREME_API Unique unique(const Value& x, SourceLocation where = SourceLocation::current());

// --- Elementwise ------------------------------------------------------------------------------
// Operands are Values or numbers, at least one a Value, and are broadcast to one shape.

// Whether elements are infinite.
TRIREME_API Value is_inf(const Value& x, SourceLocation where = SourceLocation::current());
// The largest integer not above a / b, also for integers and for quotients that are rounded up. For
// floats, b = 0 gives a / b and an infinite b or a gives NaN; for integers b = 0 gives 0. The
// gradient is 0. floor_mod() is the remainder.
TRIREME_API Value floor_divide(Operand a, Operand b,
                               SourceLocation where = SourceLocation::current());
// a + weight * (b - a): a at weight 0 and b at weight 1, exactly.
TRIREME_API Value lerp(Operand a, Operand b, Operand weight,
                       SourceLocation where = SourceLocation::current());
// sqrt(a^2 + b^2) without overflow and underflow; the gradient is 0 where both are 0.
TRIREME_API Value hypot(Operand a, Operand b, SourceLocation where = SourceLocation::current());
// log(exp(a) + exp(b)) without overflow.
TRIREME_API Value logaddexp(Operand a, Operand b, SourceLocation where = SourceLocation::current());

// --- Short forms ------------------------------------------------------------------------------
// With one axis, a list in braces or a vector; see trireme/shorthand.h.

template <Integer I>
Value variance(const Value& x, I axis, bool keepdims = false,
               SourceLocation where = SourceLocation::current()) {
  return variance(x, VarianceOptions{.axes = {static_cast<std::int64_t>(axis)}, .keep = keepdims},
                  where);
}
template <Integer I>
Value stddev(const Value& x, I axis, bool keepdims = false,
             SourceLocation where = SourceLocation::current()) {
  return stddev(x, VarianceOptions{.axes = {static_cast<std::int64_t>(axis)}, .keep = keepdims},
                where);
}
template <Integer I>
Value logsumexp(const Value& x, I axis, bool keepdims = false,
                SourceLocation where = SourceLocation::current()) {
  return logsumexp(x, NormOptions{.axes = {static_cast<std::int64_t>(axis)}, .keep = keepdims},
                   where);
}

}  // namespace trireme
