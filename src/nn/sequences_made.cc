// Functions that make new sequences of other lengths.
#include <algorithm>
#include <string>

#include "nn/layer.h"
#include "nn/sequences.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/sequence.h"

namespace trireme::sequence {

using nn::by_row;
using nn::counted;
using nn::LocationScope;
using nn::Sequences;

namespace {

void require_same_sequences(const char* what, const Sequences& a, const Sequences& b,
                            const Value& x) {
  if (a.count == b.count) return;
  nn::fail_layer(
      what, "there are " + a.count.str() + " sequences, but the other value has " + b.count.str(),
      "both values must have the same number of sequences", x);
}

Value joined(const Value& a, const Value& b) {
  const Sequences left("sequence::concat", a), right("sequence::concat", b);
  require_same_sequences("sequence::concat", left, right, b);
  const Sequences all(left.lengths() + right.lengths(), left.rows);
  const Value ids = all.ids(), position = all.positions();
  const Value length = gather(left.lengths(), ids);
  const Value in_left = gather(left.begins(), ids) + position;
  const Value in_right = gather(right.begins(), ids) + position - length;
  const Value rows = dim_size(a, {.axes = {0}, .dtype = DType::i64});
  return gather(trireme::concat({a, b}, {.axis = 0}),
                trireme::where(position < length, in_left, in_right + rows));
}

}  // namespace

Value concat(const std::vector<Value>& xs, SourceLocation where) {
  const LocationScope at(xs.empty() ? Value() : xs[0], "sequence::concat", where);
  Value all = xs[0];
  for (std::size_t i = 1; i < xs.size(); ++i) all = joined(all, xs[i]);
  return all;
}

Value expand_sequences(const Value& x, const Value& like, SourceLocation where) {
  const LocationScope at(x, "sequence::expand_sequences", where);
  const Sequences given("sequence::expand_sequences", x);
  const Sequences wanted("sequence::expand_sequences", like);
  require_same_sequences("sequence::expand_sequences", given, wanted, like);
  const Value ids = wanted.ids();
  const Sequences result(gather(given.lengths(), ids), given.rows);
  return gather(x, gather(gather(given.begins(), ids), result.ids()) + result.positions());
}

Value slice(const Value& x, const Value& offset, const Value& length, SourceLocation where) {
  const LocationScope at(x, "sequence::slice", where);
  const Sequences sequences("sequence::slice", x);
  const Value all = sequences.lengths();
  const Value from = minimum(maximum(offset, 0.0), all);
  const Sequences part(minimum(maximum(length, 0.0), all - from), sequences.rows);
  return gather(x, gather(sequences.begins() + from, part.ids()) + part.positions());
}

Value filter(const Value& x, const Value& keep, SourceLocation where) {
  const LocationScope at(x, "sequence::filter", where);
  const Sequences sequences("sequence::filter", x);
  const Value kept = cast(keep, {.dtype = DType::i64});
  const Sequences part(segment_sum(kept, sequences.splits), sequences.rows);
  // Treats every row as a sequence of one row or none; the kept rows are those of sequences of one.
  return gather(x, segment_ids(row_splits(kept, {.rows = {part.rows}})));
}

Value erase(const Value& x, const std::vector<std::int64_t>& unwanted, SourceLocation where) {
  const LocationScope at(x, "sequence::erase", where);
  Value keep;
  for (const std::int64_t id : unwanted) {
    const Value other = not_equal(x, static_cast<double>(id));
    keep = keep ? logical_and(keep, other) : other;
  }
  return keep ? filter(x, keep) : x;
}

Value windows(const Value& x, std::int64_t size, double fill, std::int64_t first,
              SourceLocation where) {
  const LocationScope at(x, "sequence::windows", where);
  const Sequences sequences("sequence::windows", x);
  if (size < 1) nn::fail_layer("sequence::windows", "a window must have at least one row", "", x);
  const Shape shape{sequences.rows, size};
  const Value index = counted(x, shape, 0) + counted(x, shape, 1) + static_cast<double>(first);
  const Value ids = sequences.ids();
  const Value begin = gather(sequences.begins(), ids), end = gather(sequences.ends(), ids);
  const Value inside = logical_and(by_row(begin, index) <= index, index < by_row(end, index));
  const Value rows = gather(x, trireme::where(inside, index, -1.0));
  return trireme::where(nn::spread(inside, rows, {0, 1}), rows, fill);
}

Value reshape(const Value& x, std::int64_t width, SourceLocation where) {
  const LocationScope at(x, "sequence::reshape", where);
  const Sequences sequences("sequence::reshape", x);
  if (x.rank() != 2 || !x.dim(1).is_constant() || width < 1) {
    nn::fail_layer("sequence::reshape",
                   "rows must have a constant number of elements, and the width must be at least 1",
                   "x must be [rows, width]", x);
  }
  const Value elements = sequences.lengths() * static_cast<double>(x.dim(1).constant());
  const Value left = floor_mod(elements, static_cast<double>(width));
  const Value checked = check_indices(
      left,
      {.size = 1,
       .what = "sequence::reshape: the elements of a sequence cannot be divided into rows of " +
               std::to_string(width)});
  const Value lengths =
      cast(cast(elements - checked, {.dtype = DType::f64}) / static_cast<double>(width),
           {.dtype = DType::i64});
  const Sequences result(lengths, sequences.rows);
  const Shape shape{result.rows, width};
  const Value index = counted(x, shape, 0) * static_cast<double>(width) + counted(x, shape, 1);
  return gather(trireme::reshape(x, {.shape = {sequences.rows * x.dim(1)}}), index);
}

Value flatten(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::flatten", where);
  const Sequences inner("sequence::flatten", x);
  const Value outer_splits(ir::find_splits(x.get()->program->builder().block(), inner.count));
  if (!outer_splits) {
    nn::fail_layer("sequence::flatten", "there is only one level of sequences", "", x);
  }
  const Value splits = gather(inner.splits, outer_splits);
  const Dim count = outer_splits.dim(0) - 1;
  const Sequences result(trireme::slice(splits, {.starts = {1}, .limits = {count + 1}}) -
                             trireme::slice(splits, {.starts = {0}, .limits = {count}}),
                         inner.rows);
  return gather(x, counted(x, {result.rows}, 0));
}

Value group(const Value& x, const Value& lengths, SourceLocation where) {
  const LocationScope at(x, "sequence::group", where);
  if (x.rank() == 0 || lengths.rank() != 1 || lengths.dtype() != DType::i64) {
    nn::fail_layer("sequence::group", "x must have rows, and the lengths must be i64 of rank 1",
                   "the lengths are " + lengths.str(), x);
  }
  const ir::Block& block = x.get()->program->builder().block();
  const Value inner(ir::find_splits(block, x.dim(0)));
  const Value outer(ir::find_splits(block, lengths.dim(0)));
  // The rows that exist and the rows that the lengths request, per sequence or in total.
  Value existing = dim_size(x, {.axes = {0}, .dtype = DType::i64}), wanted;
  if (inner && outer) {
    const Sequences given("sequence::group", x), requested("sequence::group", lengths);
    require_same_sequences("sequence::group", given, requested, lengths);
    existing = given.lengths();
    wanted = segment_sum(lengths, outer);
  } else {
    wanted = trireme::sum(lengths);
  }
  const Value zero = check_indices(
      trireme::where(equal(wanted, existing), existing - existing, -1.0),
      {.size = 1, .what = "sequence::group: the lengths do not add up to the rows of a sequence"});
  // Adding the checked zero makes the result depend on the check.
  const Sequences result(lengths + (inner && outer ? gather(zero, segment_ids(outer)) : zero),
                         x.dim(0));
  return gather(x, counted(x, {result.rows}, 0));
}

namespace {

// Returns the rows of x at the positions `places` in its sequences, i64 [updates].
Value rows_at_positions(const char* what, const Value& x, const Value& places,
                        const Value& updates) {
  const Sequences to(what, x), from(what, places);
  require_same_sequences(what, to, from, places);
  if (places.rank() != 1 || !is_integer(places.dtype()) || updates.rank() != x.rank() ||
      updates.dim(0) != places.dim(0) || updates.dtype() != x.dtype() ||
      !std::equal(x.shape().begin() + 1, x.shape().end(), updates.shape().begin() + 1)) {
    nn::fail_layer(what, "the places do not match the updates, or the updates are not rows of x",
                   "x is " + x.str() + ", and the places are " + places.str(), updates);
  }
  const Value place = cast(places, {.dtype = DType::i64});
  const Value ids = from.ids();
  const Value inside = logical_and(place >= 0.0, place < gather(to.lengths(), ids));
  const std::string message = std::string(what) + ": a place is outside its sequence";
  const Value zero =
      check_indices(trireme::where(inside, place - place, -1.0), {.size = 1, .what = message});
  return gather(to.begins(), ids) + place + zero;
}

}  // namespace

Value scatter_add(const Value& x, const Value& places, const Value& updates, SourceLocation where) {
  const LocationScope at(x, "sequence::scatter_add", where);
  const Value rows = rows_at_positions("sequence::scatter_add", x, places, updates);
  return x + trireme::scatter_add(rows, updates, {.rows = {x.dim(0)}});
}

// Sorts the updates by row with a stable sort, so that the last update of each row can be found.
Value scatter(const Value& x, const Value& places, const Value& updates, SourceLocation where) {
  const LocationScope at(x, "sequence::scatter", where);
  const Value rows = rows_at_positions("sequence::scatter", x, places, updates);
  const Value order = argsort(rows, {.axis = 0});
  const Value sorted = gather(rows, order);
  const Value number = counted(x, {rows.dim(0)}, 0);
  const Value count = dim_size(rows, {.axes = {0}, .dtype = DType::i64});
  const Value last =
      logical_or(equal(number, count - 1.0), not_equal(gather(sorted, number + 1.0), sorted));
  const Value to = trireme::where(last, sorted, -1.0);
  const Shape all{x.dim(0)};
  const Value ones = cast(last, {.dtype = DType::i64});
  const Value written = trireme::scatter_add(to, ones, {.rows = all}) > 0.0;
  const Value result = trireme::scatter_add(to, gather(updates, order), {.rows = all});
  return trireme::where(by_row(written, x), result, x);
}

}  // namespace trireme::sequence
