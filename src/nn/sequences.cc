#include "trireme/sequence.h"

#include <string>

#include "nn/layer.h"
#include "nn/sequences.h"
#include "trireme/functions.h"
#include "trireme/ops.h"

namespace trireme::nn {

Value splits_of(const char* what, const Value& x) {
  const ir::Program& program = *x.get()->program;
  const Value splits(x.rank() == 0 ? nullptr : ir::find_splits(*program.insertion_block, x.dim(0)));
  if (!splits) {
    fail_layer(what, "its rows are not those of sequences",
               "rows of sequences are the first dimension of a ragged input: input(name, dtype, "
               "ragged({batch}))",
               x);
  }
  return splits;
}

Sequences::Sequences(const char* what, const Value& x)
    : splits(splits_of(what, x)), count(splits.dim(0) - 1), rows(x.dim(0)) {}

Value Sequences::begins() const {
  return trireme::slice(splits, {.starts = {0}, .limits = {count}});
}

Value Sequences::ends() const {
  return trireme::slice(splits, {.starts = {1}, .limits = {count + 1}});
}

Value Sequences::lengths() const { return ends() - begins(); }
Value Sequences::ids() const { return segment_ids(splits); }

Value counted(const Value& like, const Shape& shape, int axis) {
  ir::Program& program = *like.get()->program;
  const ir::Location location = program.locate(SourceLocation::current());
  return Value(program
                   .append(*program.insertion_block, "iota", {},
                           {{"axis", std::int64_t{axis}}, {"shape", shape}}, location)
                   ->result());
}

Value Sequences::positions() const { return counted(splits, {rows}, 0) - gather(begins(), ids()); }

Sequences::Sequences(const Value& lengths, const Dim& like)
    : count(lengths.dim(0)),
      rows(
          std::string_view(lengths.get()->program->unique_symbol(like.symbol().value_or("rows")))) {
  splits = row_splits(lengths, {.rows = {rows}});
}

Value by_row(const Value& per_row, const Value& like) { return spread(per_row, like, {0}); }

}  // namespace trireme::nn

namespace trireme::sequence {

using nn::At;
using nn::by_row;
using nn::counted;
using nn::Sequences;

namespace {

Value number_of_rows(const Sequences& sequences, const Value& like) {
  const Value count = cast(maximum(sequences.lengths(), 1.0), {.dtype = like.dtype()});
  return by_row(count, like);
}

// The row of each sequence at `index`, zero where it has none.
Value row_of(const Sequences& sequences, const Value& x, const Value& index) {
  const Value has = sequences.lengths() > 0.0;
  const Value row = gather(x, select(has, index, -1.0));
  return select(by_row(has, row), row, 0.0);
}

}  // namespace

Value splits(const Value& x, SourceLocation where) {
  const At at(x, "sequence::splits", where);
  return nn::splits_of("sequence::splits", x);
}

Value lengths(const Value& x, SourceLocation where) {
  const At at(x, "sequence::lengths", where);
  return Sequences("sequence::lengths", x).lengths();
}

Value ids(const Value& x, SourceLocation where) {
  const At at(x, "sequence::ids", where);
  return Sequences("sequence::ids", x).ids();
}

Value positions(const Value& x, SourceLocation where) {
  const At at(x, "sequence::positions", where);
  return Sequences("sequence::positions", x).positions();
}

Value sum(const Value& x, SourceLocation where) {
  const At at(x, "sequence::sum", where);
  return segment_sum(x, nn::splits_of("sequence::sum", x));
}

Value mean(const Value& x, SourceLocation where) {
  const At at(x, "sequence::mean", where);
  const Sequences sequences("sequence::mean", x);
  const Value total = segment_sum(x, sequences.splits);
  return total / number_of_rows(sequences, total);
}

Value sqrt_n(const Value& x, SourceLocation where) {
  const At at(x, "sequence::sqrt_n", where);
  const Sequences sequences("sequence::sqrt_n", x);
  const Value total = segment_sum(x, sequences.splits);
  return total * rsqrt(number_of_rows(sequences, total));
}

Value max(const Value& x, SourceLocation where) {
  const At at(x, "sequence::max", where);
  return segment_max(x, nn::splits_of("sequence::max", x))[0];
}

Value min(const Value& x, SourceLocation where) {
  const At at(x, "sequence::min", where);
  return -segment_max(-x, nn::splits_of("sequence::min", x))[0];
}

Value first(const Value& x, SourceLocation where) {
  const At at(x, "sequence::first", where);
  const Sequences sequences("sequence::first", x);
  return row_of(sequences, x, sequences.begins());
}

Value last(const Value& x, SourceLocation where) {
  const At at(x, "sequence::last", where);
  const Sequences sequences("sequence::last", x);
  return row_of(sequences, x, sequences.ends() - 1.0);
}

// The largest of each sequence and column is taken off first.
Value softmax(const Value& x, SourceLocation where) {
  const At at(x, "sequence::softmax", where);
  const Sequences sequences("sequence::softmax", x);
  const Value ids = sequences.ids();
  const Value largest = segment_max(stop_gradient(x), sequences.splits)[0];
  const Value powers = exp(x - gather(largest, ids));
  return powers / gather(segment_sum(powers, sequences.splits), ids);
}

Value reverse(const Value& x, SourceLocation where) {
  const At at(x, "sequence::reverse", where);
  const Sequences sequences("sequence::reverse", x);
  const Value ends = sequences.begins() + sequences.ends() - 1.0;
  return gather(x, gather(ends, sequences.ids()) - counted(x, {sequences.rows}, 0));
}

Value expand(const Value& x, const Value& like, SourceLocation where) {
  const At at(x, "sequence::expand", where);
  const Sequences sequences("sequence::expand", like);
  if (x.rank() == 0 || x.dim(0) != sequences.count) {
    nn::fail_layer("sequence::expand",
                   "there is not one value for each of the " + sequences.count.str() +
                       " sequences of " + like.str(),
                   "values by sequence come of sequence::mean(), last() ... or of dense inputs", x);
  }
  return gather(x, sequences.ids());
}

namespace {

void require_same_sequences(const char* what, const Sequences& a, const Sequences& b,
                            const Value& x) {
  if (a.count == b.count) return;
  nn::fail_layer(what,
                 "there are " + a.count.str() + " sequences here and " + b.count.str() + " there",
                 "sequences are joined where there are as many of each", x);
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
                select(position < length, in_left, in_right + rows));
}

}  // namespace

Value concat(const std::vector<Value>& xs, SourceLocation where) {
  const At at(xs.empty() ? Value() : xs[0], "sequence::concat", where);
  Value all = xs[0];
  for (std::size_t i = 1; i < xs.size(); ++i) all = joined(all, xs[i]);
  return all;
}

Value slice(const Value& x, const Value& offset, const Value& length, SourceLocation where) {
  const At at(x, "sequence::slice", where);
  const Sequences sequences("sequence::slice", x);
  const Value all = sequences.lengths();
  const Value from = minimum(maximum(offset, 0.0), all);
  const Sequences part(minimum(maximum(length, 0.0), all - from), sequences.rows);
  return gather(x, gather(sequences.begins() + from, part.ids()) + part.positions());
}

Value filter(const Value& x, const Value& keep, SourceLocation where) {
  const At at(x, "sequence::filter", where);
  const Sequences sequences("sequence::filter", x);
  const Value kept = cast(keep, {.dtype = DType::i64});
  const Sequences part(segment_sum(kept, sequences.splits), sequences.rows);
  // Every row as a sequence of one row or none: those of one are the rows that are kept.
  return gather(x, segment_ids(row_splits(kept, {.rows = {part.rows}})));
}

Value erase(const Value& x, const std::vector<std::int64_t>& unwanted, SourceLocation where) {
  const At at(x, "sequence::erase", where);
  Value keep;
  for (const std::int64_t id : unwanted) {
    const Value other = not_equal(x, static_cast<double>(id));
    keep = keep ? logical_and(keep, other) : other;
  }
  return keep ? filter(x, keep) : x;
}

Value windows(const Value& x, std::int64_t size, double fill, SourceLocation where) {
  const At at(x, "sequence::windows", where);
  const Sequences sequences("sequence::windows", x);
  if (size < 1) nn::fail_layer("sequence::windows", "a window has at least one row", "", x);
  const Value row = counted(x, {sequences.rows}, 0);
  const Value end = gather(sequences.ends(), sequences.ids());
  std::vector<Value> columns;
  for (std::int64_t k = 0; k < size; ++k) {
    const Value index = row + static_cast<double>(k);
    const Value inside = index < end;
    const Value rows = gather(x, select(inside, index, -1.0));
    columns.push_back(select(by_row(inside, rows), rows, fill));
  }
  return stack(columns, 1);
}

Value reshape(const Value& x, std::int64_t width, SourceLocation where) {
  const At at(x, "sequence::reshape", where);
  const Sequences sequences("sequence::reshape", x);
  if (x.rank() != 2 || !x.dim(1).is_constant() || width < 1) {
    nn::fail_layer("sequence::reshape",
                   "rows of a constant number of elements are needed, and a width",
                   "x is [rows, width]", x);
  }
  const Value elements = sequences.lengths() * static_cast<double>(x.dim(1).constant());
  const Value left = floor_mod(elements, static_cast<double>(width));
  const Value checked = check_indices(left, {.size = 1});
  const Value lengths =
      cast(cast(elements - checked, {.dtype = DType::f64}) / static_cast<double>(width),
           {.dtype = DType::i64});
  const Sequences made(lengths, sequences.rows);
  const Shape shape{made.rows, width};
  const Value index = counted(x, shape, 0) * static_cast<double>(width) + counted(x, shape, 1);
  return gather(trireme::reshape(x, {.shape = {sequences.rows * x.dim(1)}}), index);
}

Value flatten(const Value& x, SourceLocation where) {
  const At at(x, "sequence::flatten", where);
  const Sequences inner("sequence::flatten", x);
  const Value outer_splits(ir::find_splits(*x.get()->program->insertion_block, inner.count));
  if (!outer_splits) {
    nn::fail_layer("sequence::flatten", "there is only one level of sequences", "", x);
  }
  const Value splits = gather(inner.splits, outer_splits);
  const Dim count = outer_splits.dim(0) - 1;
  const Sequences made(trireme::slice(splits, {.starts = {1}, .limits = {count + 1}}) -
                           trireme::slice(splits, {.starts = {0}, .limits = {count}}),
                       inner.rows);
  return gather(x, counted(x, {made.rows}, 0));
}

namespace {

// i64 [n, length]: how many rows are before this one in its sequence.
Value places(const Sequences& sequences, const Dim& length) {
  return counted(sequences.splits, {sequences.count, length}, 1);
}

}  // namespace

Value mask(const Value& like, const Dim& length, SourceLocation where) {
  const At at(like, "sequence::mask", where);
  const Sequences sequences("sequence::mask", like);
  const Value place = places(sequences, length);
  return place < by_row(sequences.lengths(), place);
}

Value pad(const Value& x, const Dim& length, double fill, SourceLocation where) {
  const At at(x, "sequence::pad", where);
  const Sequences sequences("sequence::pad", x);
  const Value place = places(sequences, length);
  const Value inside = place < by_row(sequences.lengths(), place);
  const Value rows = gather(x, select(inside, place + by_row(sequences.begins(), place), -1.0));
  return select(nn::spread(inside, rows, {0, 1}), rows, fill);
}

Value unpad(const Value& x, const Value& like, SourceLocation where) {
  const At at(x, "sequence::unpad", where);
  const Sequences sequences("sequence::unpad", like);
  if (x.rank() < 2 || x.dim(0) != sequences.count) {
    nn::fail_layer("sequence::unpad", "it has not one line for each sequence of " + like.str(),
                   "x is [n, length, ...]", x);
  }
  Shape shape(x.shape().begin() + 1, x.shape().end());
  shape[0] = x.dim(0) * x.dim(1);
  const Value line = dim_size(x, {.axes = {1}, .dtype = DType::i64});
  const Value place = minimum(sequences.positions(), line - 1.0);
  return gather(trireme::reshape(x, {.shape = shape}), sequences.ids() * line + place);
}

}  // namespace trireme::sequence
