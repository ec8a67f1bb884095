#pragma once

// Parts of values by index, as in NumPy, and functions that rearrange elements. They are composed
// of ops, so they are differentiated and compiled like ops. Negative axes and indices count from
// the end. Invalid arguments throw Error(usage) with the function, the caller's line and the value.

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"
#include "trireme/shorthand.h"

namespace trireme {

// --- Indexing ---------------------------------------------------------------------------------

// A range of one axis: start:stop:step of Python. Bounds outside the axis are moved to its ends if
// its size is constant.
struct IndexRange {
  std::optional<Dim> start, stop;  // empty: an end of the axis
  std::int64_t step = 1;           // not 0
};
// slice() is the whole axis, slice(1, 3) the indices 1 and 2, slice({}, {}, -1) reverses the axis.
inline IndexRange slice(std::optional<Dim> start = {}, std::optional<Dim> stop = {},
                        std::int64_t step = 1) {
  return {std::move(start), std::move(stop), step};
}
struct NewAxis {};
inline constexpr NewAxis newaxis{};  // an axis of size 1 that x does not have
struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};  // as many whole axes as the other items leave

// What selects elements along one axis of x: a number, a range, or integers in a Value.
class IndexItem {
 public:
  template <Integer I>
  IndexItem(I index) : item_(static_cast<std::int64_t>(index)) {}  // NOLINT
  IndexItem(IndexRange range) : item_(std::move(range)) {}         // NOLINT
  IndexItem(NewAxis item) : item_(item) {}                         // NOLINT
  IndexItem(Ellipsis item) : item_(item) {}                        // NOLINT
  IndexItem(Value indices) : item_(indices) {}                     // NOLINT

  using Item = std::variant<std::int64_t, IndexRange, NewAxis, Ellipsis, Value>;
  const Item& item() const { return item_; }

 private:
  Item item_;
};

// The part of x that the items select, as x[items] of NumPy: a number removes its axis, and the
// axes of a Value of integers replace its axis. At most one item is an ellipsis and at most one a
// Value; axes without an item stay whole. For example
//   index(x, {slice(1, 3), newaxis, ellipsis, -1})
// A number outside an axis of constant size is an error. An index in a Value, and a number along an
// axis of symbolic size, selects the first or last element if it is outside, as in gather(). Ranges
// of a symbolic axis must lie inside it for all sizes, and a step other than 1 and -1 needs a
// constant size.
TRIREME_API Value index(const Value& x, const std::vector<IndexItem>& items,
                        SourceLocation where = SourceLocation::current());

// --- Moving elements --------------------------------------------------------------------------

// Moves elements `shift` places towards higher indices along an axis; those that leave at the end
// come back at the start.
TRIREME_API Value roll(const Value& x, std::int64_t shift, int axis = -1,
                       SourceLocation where = SourceLocation::current());
// Repeats every element `repeats` >= 0 times in place along an axis: a b -> a a b b.
TRIREME_API Value repeat_interleave(const Value& x, std::int64_t repeats, int axis = -1,
                                    SourceLocation where = SourceLocation::current());
// Repeats axes of size 1, and adds axes in front, to get this shape. A size of -1 keeps that of x.
TRIREME_API Value broadcast_to(const Value& x, const Shape& shape,
                               SourceLocation where = SourceLocation::current());
// The coordinates of a grid: result i has the shape [n0, n1, ...] and changes along axis i as xs[i]
// [ni] does ("ij" order).
TRIREME_API std::vector<Value> meshgrid(const std::vector<Value>& xs,
                                        SourceLocation where = SourceLocation::current());

// --- Matrices by their diagonals --------------------------------------------------------------
// Diagonal k of the last two axes has the elements [i, i + k]: k > 0 is above the main diagonal.

// x with zeros above (tril) or below (triu) diagonal k.
TRIREME_API Value tril(const Value& x, std::int64_t k = 0,
                       SourceLocation where = SourceLocation::current());
TRIREME_API Value triu(const Value& x, std::int64_t k = 0,
                       SourceLocation where = SourceLocation::current());
// Diagonal k of [..., m, n] as [..., length]. Symbolic sizes: m and n are one Dim and k is 0.
TRIREME_API Value diagonal(const Value& x, std::int64_t k = 0,
                           SourceLocation where = SourceLocation::current());
// Matrices [..., n + |k|, n + |k|] that are zero except for diagonal k, which is x [..., n].
TRIREME_API Value diag_embed(const Value& x, std::int64_t k = 0,
                             SourceLocation where = SourceLocation::current());
// diag_embed() of a vector, diagonal() of a matrix.
TRIREME_API Value diag(const Value& x, std::int64_t k = 0,
                       SourceLocation where = SourceLocation::current());
// The sum of the main diagonal.
TRIREME_API Value trace(const Value& x, SourceLocation where = SourceLocation::current());

// --- Made from nothing ------------------------------------------------------------------------

// The identity matrix [n, m]; m = n if it is empty.
TRIREME_API Value eye(const Program& program, const Dim& n, std::optional<Dim> m = {},
                      DType dtype = DType::f32, SourceLocation where = SourceLocation::current());
// 0, 1 ... n - 1. n may be symbolic.
TRIREME_API Value arange(const Program& program, const Dim& n, DType dtype = DType::i64,
                         SourceLocation where = SourceLocation::current());
// start, start + step ... below stop (above, if step < 0).
TRIREME_API Value arange(const Program& program, double start, double stop, double step = 1,
                         DType dtype = DType::f32,
                         SourceLocation where = SourceLocation::current());
// n >= 0 numbers at equal distances from start to stop; both ends are exact.
TRIREME_API Value linspace(const Program& program, double start, double stop, std::int64_t n,
                           DType dtype = DType::f32,
                           SourceLocation where = SourceLocation::current());

}  // namespace trireme
