#pragma once

// Short forms of ops and losses: axes, shapes and dtypes as plain arguments, as in NumPy and
// PyTorch. `sum(x, 1)` is sum(x, {.axes = {1}}), and `sum(x, {0, 2}, true)` keeps the two axes with
// size 1. Negative axes count from the end. Every form behaves as the op that it calls, and reports
// the same errors.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "trireme/export.h"
#include "trireme/loss.h"
#include "trireme/ops.h"
#include "trireme/program.h"
#include "trireme/shape.h"

namespace trireme {

// An int that is no bool. Braces never become one, so `sum(x, {})` keeps its meaning.
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Number = Integer<T> || std::floating_point<T>;

// --- Reductions -------------------------------------------------------------------------------
// Each takes one axis, a list in braces, or a vector.

template <Integer I>
Value sum(const Value& x, I axis, bool keepdims = false,
          SourceLocation where = SourceLocation::current()) {
  return trireme::sum(x, SumAttrs{.axes = {static_cast<std::int64_t>(axis)}, .keep = keepdims},
                      where);
}
template <Integer I>
Value sum(const Value& x, std::initializer_list<I> axes, bool keepdims = false,
          SourceLocation where = SourceLocation::current()) {
  return trireme::sum(
      x, SumAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}
template <Integer I>
Value sum(const Value& x, const std::vector<I>& axes, bool keepdims = false,
          SourceLocation where = SourceLocation::current()) {
  return trireme::sum(
      x, SumAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}

template <Integer I>
Value mean(const Value& x, I axis, bool keepdims = false,
           SourceLocation where = SourceLocation::current()) {
  return trireme::mean(x, MeanAttrs{.axes = {static_cast<std::int64_t>(axis)}, .keep = keepdims},
                       where);
}
template <Integer I>
Value mean(const Value& x, std::initializer_list<I> axes, bool keepdims = false,
           SourceLocation where = SourceLocation::current()) {
  return trireme::mean(
      x, MeanAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}
template <Integer I>
Value mean(const Value& x, const std::vector<I>& axes, bool keepdims = false,
           SourceLocation where = SourceLocation::current()) {
  return trireme::mean(
      x, MeanAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}

template <Integer I>
Value prod(const Value& x, I axis, bool keepdims = false,
           SourceLocation where = SourceLocation::current()) {
  return trireme::prod(x, ProdAttrs{.axes = {static_cast<std::int64_t>(axis)}, .keep = keepdims},
                       where);
}
template <Integer I>
Value prod(const Value& x, std::initializer_list<I> axes, bool keepdims = false,
           SourceLocation where = SourceLocation::current()) {
  return trireme::prod(
      x, ProdAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}
template <Integer I>
Value prod(const Value& x, const std::vector<I>& axes, bool keepdims = false,
           SourceLocation where = SourceLocation::current()) {
  return trireme::prod(
      x, ProdAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}

template <Integer I>
Value any(const Value& x, I axis, bool keepdims = false,
          SourceLocation where = SourceLocation::current()) {
  return trireme::any(x, AnyAttrs{.axes = {static_cast<std::int64_t>(axis)}, .keep = keepdims},
                      where);
}
template <Integer I>
Value any(const Value& x, std::initializer_list<I> axes, bool keepdims = false,
          SourceLocation where = SourceLocation::current()) {
  return trireme::any(
      x, AnyAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}
template <Integer I>
Value any(const Value& x, const std::vector<I>& axes, bool keepdims = false,
          SourceLocation where = SourceLocation::current()) {
  return trireme::any(
      x, AnyAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}

template <Integer I>
Value all(const Value& x, I axis, bool keepdims = false,
          SourceLocation where = SourceLocation::current()) {
  return trireme::all(x, AllAttrs{.axes = {static_cast<std::int64_t>(axis)}, .keep = keepdims},
                      where);
}
template <Integer I>
Value all(const Value& x, std::initializer_list<I> axes, bool keepdims = false,
          SourceLocation where = SourceLocation::current()) {
  return trireme::all(
      x, AllAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}
template <Integer I>
Value all(const Value& x, const std::vector<I>& axes, bool keepdims = false,
          SourceLocation where = SourceLocation::current()) {
  return trireme::all(
      x, AllAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}

template <Integer I>
Value reduce_max(const Value& x, I axis, bool keepdims = false,
                 SourceLocation where = SourceLocation::current()) {
  return trireme::reduce_max(
      x, ReduceMaxAttrs{.axes = {static_cast<std::int64_t>(axis)}, .keep = keepdims}, where);
}
template <Integer I>
Value reduce_max(const Value& x, std::initializer_list<I> axes, bool keepdims = false,
                 SourceLocation where = SourceLocation::current()) {
  return trireme::reduce_max(
      x,
      ReduceMaxAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}
template <Integer I>
Value reduce_max(const Value& x, const std::vector<I>& axes, bool keepdims = false,
                 SourceLocation where = SourceLocation::current()) {
  return trireme::reduce_max(
      x,
      ReduceMaxAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}

template <Integer I>
Value reduce_min(const Value& x, I axis, bool keepdims = false,
                 SourceLocation where = SourceLocation::current()) {
  return trireme::reduce_min(
      x, ReduceMinAttrs{.axes = {static_cast<std::int64_t>(axis)}, .keep = keepdims}, where);
}
template <Integer I>
Value reduce_min(const Value& x, std::initializer_list<I> axes, bool keepdims = false,
                 SourceLocation where = SourceLocation::current()) {
  return trireme::reduce_min(
      x,
      ReduceMinAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}
template <Integer I>
Value reduce_min(const Value& x, const std::vector<I>& axes, bool keepdims = false,
                 SourceLocation where = SourceLocation::current()) {
  return trireme::reduce_min(
      x,
      ReduceMinAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end()), .keep = keepdims},
      where);
}

template <Integer I>
Value argmax(const Value& x, I axis, bool keepdims = false,
             SourceLocation where = SourceLocation::current()) {
  return trireme::argmax(
      x, ArgmaxAttrs{.axes = {static_cast<std::int64_t>(axis)}, .keep = keepdims}, where);
}

template <Integer I>
Value argmin(const Value& x, I axis, bool keepdims = false,
             SourceLocation where = SourceLocation::current()) {
  return trireme::argmin(
      x, ArgminAttrs{.axes = {static_cast<std::int64_t>(axis)}, .keep = keepdims}, where);
}

// --- Along one axis ---------------------------------------------------------------------------

template <Integer I>
Value cumsum(const Value& x, I axis, SourceLocation where = SourceLocation::current()) {
  return trireme::cumsum(x, CumsumAttrs{.axis = static_cast<std::int64_t>(axis)}, where);
}
template <Integer I>
Value concat(const std::vector<Value>& xs, I axis,
             SourceLocation where = SourceLocation::current()) {
  return trireme::concat(xs, ConcatAttrs{.axis = static_cast<std::int64_t>(axis)}, where);
}
template <Integer I>
Value gather(const Value& x, const Value& indices, I axis,
             SourceLocation where = SourceLocation::current()) {
  return trireme::gather(x, indices, GatherAttrs{.axis = static_cast<std::int64_t>(axis)}, where);
}
template <Integer I>
Value take_along_axis(const Value& x, const Value& indices, I axis,
                      SourceLocation where = SourceLocation::current()) {
  return trireme::take_along_axis(
      x, indices, TakeAlongAxisAttrs{.axis = static_cast<std::int64_t>(axis)}, where);
}
template <Integer I>
std::vector<Value> sort(const Value& x, I axis, bool descending = false,
                        SourceLocation where = SourceLocation::current()) {
  return trireme::sort(
      x, SortAttrs{.axis = static_cast<std::int64_t>(axis), .descending = descending}, where);
}
template <Integer I>
Value argsort(const Value& x, I axis, bool descending = false,
              SourceLocation where = SourceLocation::current()) {
  return trireme::argsort(
      x, ArgsortAttrs{.axis = static_cast<std::int64_t>(axis), .descending = descending}, where);
}
template <Integer I>
Value flip(const Value& x, I axis, SourceLocation where = SourceLocation::current()) {
  return trireme::flip(x, FlipAttrs{.axes = {static_cast<std::int64_t>(axis)}}, where);
}
template <Integer I>
Value flip(const Value& x, std::initializer_list<I> axes,
           SourceLocation where = SourceLocation::current()) {
  return trireme::flip(x, FlipAttrs{.axes = std::vector<std::int64_t>(axes.begin(), axes.end())},
                       where);
}

// --- Shapes and dtypes ------------------------------------------------------------------------

// Returns x with the elements converted: cast(x, f32).
inline Value cast(const Value& x, DType dtype, SourceLocation where = SourceLocation::current()) {
  return trireme::cast(x, CastAttrs{.dtype = dtype}, where);
}

// The same elements in another shape. One size may be -1: it becomes the number of elements divided
// by the other sizes, also if these are symbolic.
// Errors: usage, if that quotient is not exact for all sizes of the symbols.
TRIREME_API Value reshape_to(const Value& x, const Shape& shape,
                             SourceLocation where = SourceLocation::current());
// The sizes of a shape in braces: {batch, -1}.
class Sizes {
 public:
  template <std::convertible_to<Dim>... D>
    requires(sizeof...(D) > 0)
  Sizes(const D&... sizes) : shape_{Dim(sizes)...} {}  // NOLINT
  const Shape& shape() const { return shape_; }

 private:
  Shape shape_;
};
// reshape(x, {batch, -1}) and reshape(x, shape).
inline Value reshape(const Value& x, const Sizes& sizes,
                     SourceLocation where = SourceLocation::current()) {
  return reshape_to(x, sizes.shape(), where);
}
template <std::same_as<Shape> S>
Value reshape(const Value& x, const S& shape, SourceLocation where = SourceLocation::current()) {
  return reshape_to(x, shape, where);
}

// transpose(x, {1, 0}): axis i of the result is axis permutation[i] of x.
template <Integer I>
Value transpose(const Value& x, std::initializer_list<I> permutation,
                SourceLocation where = SourceLocation::current()) {
  return trireme::transpose(x,
                            TransposeAttrs{.permutation = std::vector<std::int64_t>(
                                               permutation.begin(), permutation.end())},
                            where);
}
// Returns x with two of its axes exchanged.
TRIREME_API Value swap_axes(const Value& x, int a, int b,
                            SourceLocation where = SourceLocation::current());

// Returns a constant with the shape and dtype of x and all elements equal to `number`.
TRIREME_API Value full_like(const Value& x, double number,
                            SourceLocation where = SourceLocation::current());
inline Value zeros_like(const Value& x, SourceLocation where = SourceLocation::current()) {
  return full_like(x, 0, where);
}
inline Value ones_like(const Value& x, SourceLocation where = SourceLocation::current()) {
  return full_like(x, 1, where);
}

}  // namespace trireme

namespace trireme::nn {

// --- Losses against a number ------------------------------------------------------------------
// The target of every element is the number: mse(score, 1).

template <Number T>
Value mse(const Value& x, T target, SourceLocation where = SourceLocation::current()) {
  return mse(x, full_like(x, static_cast<double>(target), where), where);
}
template <Number T>
Value l1(const Value& x, T target, SourceLocation where = SourceLocation::current()) {
  return l1(x, full_like(x, static_cast<double>(target), where), where);
}
template <Number T>
Value huber(const Value& x, T target, const HuberOptions& options = {},
            SourceLocation where = SourceLocation::current()) {
  return huber(x, full_like(x, static_cast<double>(target), where), options, where);
}
template <Number T>
Value smooth_l1(const Value& x, T target, const SmoothL1Options& options = {},
                SourceLocation where = SourceLocation::current()) {
  return smooth_l1(x, full_like(x, static_cast<double>(target), where), options, where);
}
template <Number T>
Value hinge(const Value& x, T target, const HingeOptions& options = {},
            SourceLocation where = SourceLocation::current()) {
  return hinge(x, full_like(x, static_cast<double>(target), where), options, where);
}
template <Number T>
Value squared_hinge(const Value& x, T target, const HingeOptions& options = {},
                    SourceLocation where = SourceLocation::current()) {
  return squared_hinge(x, full_like(x, static_cast<double>(target), where), options, where);
}
template <Number T>
Value focal(const Value& x, T target, const FocalOptions& options = {},
            SourceLocation where = SourceLocation::current()) {
  return focal(x, full_like(x, static_cast<double>(target), where), options, where);
}
template <Number T>
Value binary_cross_entropy_with_logits(const Value& x, T target,
                                       const BinaryCrossEntropyOptions& options = {},
                                       SourceLocation where = SourceLocation::current()) {
  return binary_cross_entropy_with_logits(x, full_like(x, static_cast<double>(target), where),
                                          options, where);
}
template <Number T>
Value poisson_nll(const Value& x, T target, const PoissonNllOptions& options = {},
                  SourceLocation where = SourceLocation::current()) {
  return poisson_nll(x, full_like(x, static_cast<double>(target), where), options, where);
}

}  // namespace trireme::nn
