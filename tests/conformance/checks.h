#pragma once

// The checks behind the columns of the table. Each adds its result for one case to a Column.

#include <string>
#include <vector>

#include "cases.h"

namespace trireme::conformance {

// One cell of the table: the result of one check over all cases of an op.
struct Column {
  int cases = 0;
  double worst = 0;     // the largest relative error, as distance() defines it
  std::string failure;  // the first failure; empty if there was none
  std::string reason;   // why no case was checked; empty if some were

  void fail(const std::string& text) {
    if (failure.empty()) failure = text;
  }
};

// Returns the reference's outputs of a run: results, then gradients.
std::vector<ops::RefTensor> expected_of(const Case& c, const Run& run);

// Returns the maximum of |a - b| / max(|b|, min(1, largest |b|)). It is infinite if the shapes
// differ, if only one element is NaN, or if infinite elements differ.
double distance(const ops::RefTensor& a, const ops::RefTensor& b);

// Compares the gradients in `expected` with central differences of the reference loss, for about
// `most` elements of each operand.
void check_gradient(const Case& c, const Run& run, const std::vector<ops::RefTensor>& expected,
                    std::size_t most, Column& column);

struct CompiledColumns {
  Column one_thread, two_threads, interpreter, unfused, generated;
};
// Runs all runs of a case in one Session of each kind and compares them with `expected`, which has
// one entry per run. Compares two threads with one thread bit by bit.
void check_compiled(const Case& c, const std::vector<std::vector<ops::RefTensor>>& expected,
                    CompiledColumns& columns);

inline constexpr std::uint64_t kSeed = 12345;  // for random ops

}  // namespace trireme::conformance
