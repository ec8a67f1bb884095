#pragma once

// Functions of sequences of different lengths, which lie behind each other in the first dimension of a
// value: x is [rows, ...], where `rows` is the dimension of a ragged input (Program::input), or of what
// one of these functions makes. There is no padding anywhere. Sequences without rows are ordinary.
// A mistake is Error(usage) naming the function, the caller's line and the value.

#include <cstdint>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"

namespace trireme::sequence {

#define TRIREME_SEQUENCE(name) \
  TRIREME_API Value name(const Value& x, SourceLocation where = SourceLocation::current())

// --- What is known of the sequences -------------------------------------------------------------

TRIREME_SEQUENCE(splits);     // i64 [n + 1]: sequence i is rows splits[i] to splits[i + 1]
TRIREME_SEQUENCE(lengths);    // i64 [n]
TRIREME_SEQUENCE(ids);        // i64 [rows]: the sequence of each row, from 0
TRIREME_SEQUENCE(positions);  // i64 [rows]: the place of each row in its sequence, from 0

// --- One value for each sequence: [rows, ...] -> [n, ...] ---------------------------------------
// Of several levels, the innermost; the result has the sequences of the next one.

TRIREME_SEQUENCE(sum);  // zero for a sequence without rows, and so are all of these
TRIREME_SEQUENCE(mean);
TRIREME_SEQUENCE(sqrt_n);  // the sum by the root of the length
TRIREME_SEQUENCE(max);
TRIREME_SEQUENCE(min);
TRIREME_SEQUENCE(first);
TRIREME_SEQUENCE(last);

struct TopKOptions {
  std::int64_t k = 1;
  bool by_size = false;  // the largest first; else in the order in which they stand
  double fill = 0;       // where a sequence has fewer than k rows
};
// The k largest of each sequence and column, [n, k, ...], of equal ones the first; NaN counts as larger than
// all numbers. They are looked for one after the other. In their order that is the k-max pooling of Kalchbrenner et al. 2014.
TRIREME_API Value top_k(const Value& x, const TopKOptions& options = {},
                        SourceLocation where = SourceLocation::current());

// --- A value for each row: [rows, ...] -> [rows, ...] -------------------------------------------

TRIREME_SEQUENCE(softmax);  // over each sequence, column by column
TRIREME_SEQUENCE(reverse);  // the rows of each sequence from the last to the first
// The value of each sequence [n, ...] at each of its rows; `like` is [rows, ...].
TRIREME_API Value expand(const Value& x, const Value& like,
                         SourceLocation where = SourceLocation::current());

#undef TRIREME_SEQUENCE

// --- Other sequences ----------------------------------------------------------------------------

// Sequence i of the result is those of all xs behind each other: [rows_0 + rows_1 ..., ...].
TRIREME_API Value concat(const std::vector<Value>& xs,
                         SourceLocation where = SourceLocation::current());
// The whole sequence i of x at each row of sequence i of `like`, whose rows are the sequences of the result.
TRIREME_API Value expand_sequences(const Value& x, const Value& like,
                                   SourceLocation where = SourceLocation::current());
// Of each sequence `length[i]` rows from `offset[i]` on, both i64 [n]; as many of these as there are.
TRIREME_API Value slice(const Value& x, const Value& offset, const Value& length,
                        SourceLocation where = SourceLocation::current());
// The rows where `keep`, booleans [rows], is true.
TRIREME_API Value filter(const Value& x, const Value& keep,
                         SourceLocation where = SourceLocation::current());
// The ids [rows], integers, that are none of `unwanted`.
TRIREME_API Value erase(const Value& x, const std::vector<std::int64_t>& unwanted,
                        SourceLocation where = SourceLocation::current());
// Of each row the `size` rows from the one at `first` on, counted from the row itself: [rows, size, ...], `fill`
// beyond its sequence. With first = 0 n-grams, each with the word that it begins with.
TRIREME_API Value windows(const Value& x, std::int64_t size, double fill = 0,
                          std::int64_t first = 0, SourceLocation where = SourceLocation::current());
// Rows of `width` elements instead of those there are: [rows, w] -> [rows * w / width, width], where a
// sequence of n rows gets n * w / width. Errors (when it runs): data, where that does not come out even.
TRIREME_API Value reshape(const Value& x, std::int64_t width,
                          SourceLocation where = SourceLocation::current());
// Without the level above the rows: sequences of sequences become longer ones.
TRIREME_API Value flatten(const Value& x, SourceLocation where = SourceLocation::current());
// The inverse: rows as sequences of these lengths, i64 [m], one behind the other. Where x and the lengths are
// themselves those of n sequences, each of these becomes a sequence of sequences. Errors (when it runs): data,
// where lengths do not add up to the rows there are.
TRIREME_API Value group(const Value& x, const Value& lengths,
                        SourceLocation where = SourceLocation::current());
// x with other rows: updates [m, ...] and the places, integers [m], that they have in their sequence of x, are
// rows of n sequences as x is. Where several name one row, scatter_add() adds all of them to it and scatter()
// puts the last one there. Errors (when it runs): data, for a place outside of its sequence.
TRIREME_API Value scatter(const Value& x, const Value& places, const Value& updates,
                          SourceLocation where = SourceLocation::current());
TRIREME_API Value scatter_add(const Value& x, const Value& places, const Value& updates,
                              SourceLocation where = SourceLocation::current());

// --- Dense tensors ------------------------------------------------------------------------------

// A new dimension, the length of the longest sequence and at least 1: what pad() may be given.
TRIREME_API Dim longest(const Value& x, SourceLocation where = SourceLocation::current());

// [n, length, ...]: the first `length` rows of each sequence, then `fill`.
TRIREME_API Value pad(const Value& x, const Dim& length, double fill = 0,
                      SourceLocation where = SourceLocation::current());
// Booleans [n, length]: where pad() has rows.
TRIREME_API Value mask(const Value& like, const Dim& length,
                       SourceLocation where = SourceLocation::current());
// The inverse of pad(): of x [n, length, ...] the rows of sequences like those of `like`; a longer one is
// filled up with its last row.
TRIREME_API Value unpad(const Value& x, const Value& like,
                        SourceLocation where = SourceLocation::current());

}  // namespace trireme::sequence
