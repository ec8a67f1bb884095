#pragma once

// Control flow in a Program: conditions and loops. Their bodies are blocks of the Program; they are
// printed, differentiated and compiled with it. A body is a C++ function that is called once, to
// build the block. It may use values from outside. Carried values keep their dtype and shape from
// step to step.

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

// Runs one of two blocks and returns its values: `yes` if `condition`, a boolean scalar, is true,
// else `no`. Both return values of the same types.
TRIREME_API Values cond_values(const Value& condition, const std::function<Values()>& yes,
                               const std::function<Values()>& no,
                               SourceLocation where = SourceLocation::current());
TRIREME_API Value cond(const Value& condition, const std::function<Value()>& yes,
                       const std::function<Value()>& no,
                       SourceLocation where = SourceLocation::current());

// Runs block number `index`, an i64; the last block for all other numbers. At least one block.
TRIREME_API Value switch_case(const Value& index, const std::vector<std::function<Value()>>& blocks,
                              SourceLocation where = SourceLocation::current());

// Splits rows by condition: `yes` gets the rows of each x [n, ...] where the booleans `condition`
// [n] are true, `no` gets the others. Both return [rows, ...]. The result has these rows in the
// order of x.
using ByRows = std::function<Values(const Values& rows)>;
TRIREME_API Values if_else(const Value& condition, const Values& xs, const ByRows& yes,
                           const ByRows& no, SourceLocation where = SourceLocation::current());

// --- Loops --------------------------------------------------------------------------------------

struct WhileOptions {
  std::int64_t limit = 1000000;  // Error(data) at run time after more steps
};

// While `condition` is true, `body` computes new carried values. The gradient runs the loop again,
// step by step, from the initial values.
TRIREME_API Values while_values(const Values& initial,
                                const std::function<Value(const Values&)>& condition,
                                const std::function<Values(const Values&)>& body,
                                const WhileOptions& options = {},
                                SourceLocation where = SourceLocation::current());

struct ScanOptions {
  Dim length = 0;        // number of steps; 0: the number of rows of the sequences
  bool reverse = false;  // from the last row to the first
};
struct ScanResult {
  Values carried;  // after the last step
  Values outputs;  // of all steps: [length, ...]
};
// The results of a step: the new carried values, then outputs.
struct ScanStep {
  Values carried;
  Values outputs = {};
};

// Runs a step for each row of axis 0 of the sequences, which all have the same number of rows.
TRIREME_API ScanResult
scan(const Values& initial, const Values& sequences,
     const std::function<ScanStep(const Values& carried, const Values& rows)>& step,
     const ScanOptions& options = {}, SourceLocation where = SourceLocation::current());

// --- The same with tuples: auto [i, total] = while_loop(std::tuple{zero, zero}, ...) ------------

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

// An array of `size` values of one type, [size, ...]. Loops can carry it and read and write single
// values by index. write() returns a new array. An index out of range means the nearest valid one.
class TRIREME_API TensorArray {
 public:
  explicit TensorArray(const Value& values) : values_(values) {}
  // An array of zeros.
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
