#pragma once

// Control flow in a Program: conditions and loops whose bodies are blocks of the Program, printed,
// differentiated and compiled with it. A body is a C++ function that is called once, to build the block.
// It may use values from outside. What is carried from step to step keeps its dtype and shape.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"

namespace trireme {

using Values = std::vector<Value>;

// --- Conditions ---------------------------------------------------------------------------------

// What one of two blocks gives: that of `yes` where `condition`, one boolean, is true; only it runs. Both
// give values of the same types.
TRIREME_API Values cond_values(const Value& condition, const std::function<Values()>& yes,
                               const std::function<Values()>& no,
                               SourceLocation where = SourceLocation::current());
TRIREME_API Value cond(const Value& condition, const std::function<Value()>& yes,
                       const std::function<Value()>& no,
                       SourceLocation where = SourceLocation::current());

// The block of number `index`, an i64; the last one for all other numbers. At least one.
TRIREME_API Value switch_case(const Value& index, const std::vector<std::function<Value()>>& blocks,
                              SourceLocation where = SourceLocation::current());

// Row by row: `yes` gets the rows of each x [n, ...] where the booleans `condition` [n] are true, `no` the
// others; the rows that they give, [rows, ...] each, stand in the result in the order of x.
using ByRows = std::function<Values(const Values& rows)>;
TRIREME_API Values if_else(const Value& condition, const Values& xs, const ByRows& yes,
                           const ByRows& no, SourceLocation where = SourceLocation::current());

// --- Loops --------------------------------------------------------------------------------------

struct WhileOptions {
  std::int64_t limit = 1000000;  // more steps are Error(data) when it runs
};

// While `condition` gives true, `body` gives the carried values anew. Its gradient runs the loop again, step
// by step, from what it began with.
TRIREME_API Values while_values(const Values& initial,
                                const std::function<Value(const Values&)>& condition,
                                const std::function<Values(const Values&)>& body,
                                const WhileOptions& options = {},
                                SourceLocation where = SourceLocation::current());

struct ScanOptions {
  Dim length = 0;        // the number of steps; 0: as many as the sequences have rows
  bool reverse = false;  // from the last row to the first
};
struct ScanResult {
  Values carried;  // after the last step
  Values outputs;  // of all steps: [length, ...]
};
// What a step gives: the carried values anew, then outputs.
struct ScanStep {
  Values carried;
  Values outputs = {};
};

// A step for each row of axis 0 of the sequences, which all have as many.
TRIREME_API ScanResult
scan(const Values& initial, const Values& sequences,
     const std::function<ScanStep(const Values& carried, const Values& rows)>& step,
     const ScanOptions& options = {}, SourceLocation where = SourceLocation::current());

// --- The same with tuples: auto [i, total] = while_loop(std::tuple{zero, zero}, ...) -----------------

namespace control {

template <class Tuple, std::size_t... I>
Tuple as_tuple(const Values& values, std::index_sequence<I...>) {
  return Tuple{values[I]...};
}
template <class Tuple, std::size_t... I>
Values as_values(const Tuple& tuple, std::index_sequence<I...>) {
  return {std::get<I>(tuple)...};
}

}  // namespace control

template <class... T, class Condition, class Body>
std::tuple<T...> while_loop(const std::tuple<T...>& initial, Condition condition, Body body,
                            const WhileOptions& options = {},
                            SourceLocation where = SourceLocation::current()) {
  using Tuple = std::tuple<T...>;
  using Indices = std::index_sequence_for<T...>;
  const Values results = while_values(
      control::as_values(initial, Indices{}),
      [&](const Values& values) {
        return std::apply(condition, control::as_tuple<Tuple>(values, Indices{}));
      },
      [&](const Values& values) {
        return control::as_values(std::apply(body, control::as_tuple<Tuple>(values, Indices{})),
                                  Indices{});
      },
      options, where);
  return control::as_tuple<Tuple>(results, Indices{});
}

// --- Tensor arrays ------------------------------------------------------------------------------

// As many values of one type as `size` says, [size, ...], of which single ones are read and written by
// number; to be carried by loops. A write gives the array anew. A number outside is as the nearest one
// inside.
class TRIREME_API TensorArray {
 public:
  explicit TensorArray(const Value& values) : values_(values) {}
  // Zeros.
  static TensorArray zeros(const Program& program, const Dim& size, const Shape& shape,
                           DType dtype = DType::f32,
                           SourceLocation where = SourceLocation::current());
  Value read(const Value& index, SourceLocation where = SourceLocation::current()) const;
  TensorArray write(const Value& index, const Value& value,
                    SourceLocation where = SourceLocation::current()) const;
  const Value& values() const { return values_; }

 private:
  Value values_;
};

}  // namespace trireme
