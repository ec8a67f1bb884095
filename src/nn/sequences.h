#pragma once

// Concatenated sequences, as the functions of trireme/sequence.h use them.

#include "trireme/program.h"

namespace trireme::nn {

// Returns the splits of the sequences with the rows of x. Error(usage) with `what` if x has none.
Value splits_of(const char* what, const Value& x);

struct Sequences {
  // The sequences of x, from splits_of().
  Sequences(const char* what, const Value& x);
  // New sequences with these lengths, i64 [n]. The symbol of their rows is derived from `like`.
  Sequences(const Value& lengths, const Dim& like);

  Value splits;
  Dim count;  // number of sequences
  Dim rows;   // number of rows of all sequences

  Value begins() const;  // i64 [count]
  Value ends() const;
  Value lengths() const;
  Value ids() const;        // i64 [rows]
  Value positions() const;  // i64 [rows]
};

// Returns i64 numbers that count along `axis`, in the Program of `like`.
Value counted(const Value& like, const Shape& shape, int axis);
// Broadcasts one value per row, [rows], to the shape of `like`, [rows, ...].
Value by_row(const Value& per_row, const Value& like);

}  // namespace trireme::nn
