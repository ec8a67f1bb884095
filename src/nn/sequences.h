#pragma once

// Sequences that lie behind each other, as the functions of trireme/sequence.h see them.

#include "trireme/program.h"

namespace trireme::nn {

// The splits of the sequences that the rows of x are; Error(usage) naming `what` if they are none.
Value splits_of(const char* what, const Value& x);

struct Sequences {
  // Those of x, as by splits_of().
  Sequences(const char* what, const Value& x);
  // New ones of these lengths, i64 [n]. Their rows get a symbol that reminds of `like`.
  Sequences(const Value& lengths, const Dim& like);

  Value splits;
  Dim count;  // of sequences
  Dim rows;   // of all of them

  Value begins() const;  // i64 [count]
  Value ends() const;
  Value lengths() const;
  Value ids() const;        // i64 [rows]
  Value positions() const;  // i64 [rows]
};

// i64 numbers that count along `axis`, in the Program of `like`.
Value counted(const Value& like, const Shape& shape, int axis);
// A value by row, [rows], as wide as `like`, [rows, ...].
Value by_row(const Value& per_row, const Value& like);

}  // namespace trireme::nn
