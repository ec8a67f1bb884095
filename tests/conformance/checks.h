#pragma once

// The checks of the table's columns. Each adds what it saw of one case to a Column.

#include <string>
#include <vector>

#include "cases.h"

namespace trireme::conformance {

// One cell of the table: what came of one kind of check over all cases of an op.
struct Column {
  int cases = 0;
  double worst = 0;     // largest error seen, in parts of the tolerance's scale
  std::string failure;  // the first failure; empty if there was none
  std::string reason;   // why there is nothing to check, if there is nothing

  void fail(const std::string& text) {
    if (failure.empty()) failure = text;
  }
};

// What the reference says of a run: results, then gradients.
std::vector<ops::RefTensor> expected_of(const Case& c, const Run& run);

// |a - b| / max(|b|, min(1, largest |b|)) at its largest; infinite where only one is NaN, infinite
// ones differ or shapes differ.
double distance(const ops::RefTensor& a, const ops::RefTensor& b);

// The gradients in `expected` against central differences of the reference loss.
void check_gradient(const Case& c, const Run& run, const std::vector<ops::RefTensor>& expected,
                    Column& column);

struct CompiledColumns {
  Column one_thread, two_threads, interpreter, unfused, generated;
};
// All runs of a case by one Session of each kind against `expected` (by run), and two threads
// against one, bit by bit.
void check_compiled(const Case& c, const std::vector<std::vector<ops::RefTensor>>& expected,
                    CompiledColumns& columns);

inline constexpr std::uint64_t kSeed = 12345;  // of random ops

}  // namespace trireme::conformance
