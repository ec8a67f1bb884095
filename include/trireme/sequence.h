#pragma once

// Functions of sequences of different lengths, packed one after another along the first dimension.
// x is [rows, ...], where `rows` is the dimension of a ragged input (Program::input) or of a result
// of these functions. There is no padding. Sequences may be empty. Invalid arguments throw
// Error(usage) with the function, the caller's line and the value.

#include <cstdint>
#include <vector>

#include "trireme/export.h"
#include "trireme/program.h"

namespace trireme::sequence {

#define TRIREME_SEQUENCE(name) \
  TRIREME_API Value name(const Value& x, SourceLocation where = SourceLocation::current())

// --- Structure of the sequences -----------------------------------------------------------------

TRIREME_SEQUENCE(splits);     // i64 [n + 1]: sequence i is rows splits[i] to splits[i + 1]
TRIREME_SEQUENCE(lengths);    // i64 [n]
TRIREME_SEQUENCE(ids);        // i64 [rows]: the index of each row's sequence, from 0
TRIREME_SEQUENCE(positions);  // i64 [rows]: the position of each row in its sequence, from 0

// --- One value for each sequence: [rows, ...] -> [n, ...] ---------------------------------------
// With several levels these reduce the innermost one; the result has the sequences of the next
// level.

TRIREME_SEQUENCE(sum);  // zero for an empty sequence, as in all of these
TRIREME_SEQUENCE(mean);
TRIREME_SEQUENCE(sqrt_n);  // sum / sqrt(length)
TRIREME_SEQUENCE(max);
TRIREME_SEQUENCE(min);
TRIREME_SEQUENCE(first);
TRIREME_SEQUENCE(last);

struct TopKOptions {
  std::int64_t k = 1;
  bool by_size = false;  // true: the largest first; false: in the order of the rows
  double fill = 0;       // used if a sequence has fewer than k rows
};
// The k largest elements of each sequence and column, [n, k, ...]; of equal elements the first. NaN
// counts as larger than all numbers. Finds them one after another. With by_size = false this is the
// k-max pooling of Kalchbrenner et al. 2014.
TRIREME_API Value top_k(const Value& x, const TopKOptions& options = {},
                        SourceLocation where = SourceLocation::current());

// --- One value for each row: [rows, ...] -> [rows, ...] -----------------------------------------

TRIREME_SEQUENCE(softmax);  // over each sequence, column by column
TRIREME_SEQUENCE(reverse);  // reverses the rows of each sequence
// Repeats the value of each sequence [n, ...] for each of its rows; `like` is [rows, ...].
TRIREME_API Value expand(const Value& x, const Value& like,
                         SourceLocation where = SourceLocation::current());

#undef TRIREME_SEQUENCE

// --- New sequences ------------------------------------------------------------------------------

// Concatenates sequences: sequence i of the result is sequence i of each of xs, one after another.
// [rows_0 + rows_1 ..., ...].
TRIREME_API Value concat(const std::vector<Value>& xs,
                         SourceLocation where = SourceLocation::current());
// Repeats the whole sequence i of x for each row of sequence i of `like`. The rows of `like` are
// the sequences of the result.
TRIREME_API Value expand_sequences(const Value& x, const Value& like,
                                   SourceLocation where = SourceLocation::current());
// Takes `length[i]` rows of sequence i starting at `offset[i]`, both i64 [n]; fewer if the sequence
// ends before.
TRIREME_API Value slice(const Value& x, const Value& offset, const Value& length,
                        SourceLocation where = SourceLocation::current());
// Keeps the rows where `keep`, booleans [rows], is true.
TRIREME_API Value filter(const Value& x, const Value& keep,
                         SourceLocation where = SourceLocation::current());
// Removes the ids in `unwanted` from x, integers [rows].
TRIREME_API Value erase(const Value& x, const std::vector<std::int64_t>& unwanted,
                        SourceLocation where = SourceLocation::current());
// Windows of `size` rows for each row, starting at offset `first` relative to the row: [rows, size,
// ...], with `fill` outside the sequence. first = 0 gives n-grams, each at its first word.
TRIREME_API Value windows(const Value& x, std::int64_t size, double fill = 0,
                          std::int64_t first = 0, SourceLocation where = SourceLocation::current());
// Changes the row width: [rows, w] -> [rows * w / width, width]. A sequence of n rows gets n * w /
// width rows.
// Errors (at run time): data, if that is not an integer.
TRIREME_API Value reshape(const Value& x, std::int64_t width,
                          SourceLocation where = SourceLocation::current());
// Removes the innermost level: sequences of sequences become longer sequences.
TRIREME_API Value flatten(const Value& x, SourceLocation where = SourceLocation::current());
// The inverse: groups rows into sequences of these lengths, i64 [m], one after another. If x and
// the lengths are themselves n sequences, each of these becomes a sequence of sequences.
// Errors (at run time): data, if the lengths do not add up to the number of rows.
TRIREME_API Value group(const Value& x, const Value& lengths,
                        SourceLocation where = SourceLocation::current());
// Returns x with some rows changed: updates [m, ...] and their positions in the sequence of x,
// integers [m], are rows of n sequences like x. For repeated positions, scatter() keeps the last
// update and scatter_add() adds all updates to the row.
// Errors (at run time): data, for a position outside its sequence.
TRIREME_API Value scatter(const Value& x, const Value& places, const Value& updates,
                          SourceLocation where = SourceLocation::current());
TRIREME_API Value scatter_add(const Value& x, const Value& places, const Value& updates,
                              SourceLocation where = SourceLocation::current());

// --- Dense tensors ------------------------------------------------------------------------------

// Returns a new dimension: the length of the longest sequence, at least 1. For pad().
TRIREME_API Dim longest(const Value& x, SourceLocation where = SourceLocation::current());

// [n, length, ...]: the first `length` rows of each sequence, then `fill`.
TRIREME_API Value pad(const Value& x, const Dim& length, double fill = 0,
                      SourceLocation where = SourceLocation::current());
// Booleans [n, length]: where pad() has rows.
TRIREME_API Value mask(const Value& like, const Dim& length,
                       SourceLocation where = SourceLocation::current());
// The inverse of pad(): takes the rows of sequences like those of `like` from x [n, length, ...].
// Sequences longer than `length` repeat the last row.
TRIREME_API Value unpad(const Value& x, const Value& like,
                        SourceLocation where = SourceLocation::current());

}  // namespace trireme::sequence
