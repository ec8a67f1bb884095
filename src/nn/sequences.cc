#include "trireme/sequence.h"

#include <cfloat>
#include <limits>
#include <string>
#include <vector>

#include "nn/layer.h"
#include "nn/sequences.h"
#include "trireme/functions.h"
#include "trireme/ops.h"

namespace trireme::nn {

Value splits_of(const char* what, const Value& x) {
  const ir::Program& program = *x.get()->program;
  const Value splits(x.rank() == 0 ? nullptr
                                   : ir::find_splits(program.builder().block(), x.dim(0)));
  if (!splits) {
    fail_layer(what, "its rows are not rows of sequences",
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
  return Value(like.get()->program->builder().make(
      "iota", {}, {{"axis", std::int64_t{axis}}, {"shape", shape}}));
}

Value Sequences::positions() const { return counted(splits, {rows}, 0) - gather(begins(), ids()); }

Sequences::Sequences(const Value& lengths, const Dim& like)
    : count(lengths.dim(0)),
      rows(std::string_view(
          lengths.get()->program->builder().unique_symbol(like.symbol().value_or("rows")))) {
  splits = row_splits(lengths, {.rows = {rows}});
}

Value by_row(const Value& per_row, const Value& like) { return spread(per_row, like, {0}); }

}  // namespace trireme::nn

namespace trireme::sequence {

using nn::by_row;
using nn::counted;
using nn::LocationScope;
using nn::Sequences;

namespace {

Value number_of_rows(const Sequences& sequences, const Value& like) {
  const Value count = cast(maximum(sequences.lengths(), 1.0), {.dtype = like.dtype()});
  return by_row(count, like);
}

// Returns the row of each sequence at `index`, or zero for a sequence without rows.
Value row_of(const Sequences& sequences, const Value& x, const Value& index) {
  const Value has = sequences.lengths() > 0.0;
  const Value row = gather(x, trireme::where(has, index, -1.0));
  return trireme::where(by_row(has, row), row, 0.0);
}

}  // namespace

Value splits(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::splits", where);
  return nn::splits_of("sequence::splits", x);
}

Value lengths(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::lengths", where);
  return Sequences("sequence::lengths", x).lengths();
}

Value ids(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::ids", where);
  return Sequences("sequence::ids", x).ids();
}

Value positions(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::positions", where);
  return Sequences("sequence::positions", x).positions();
}

Value sum(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::sum", where);
  return segment_sum(x, nn::splits_of("sequence::sum", x));
}

Value mean(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::mean", where);
  const Sequences sequences("sequence::mean", x);
  const Value total = segment_sum(x, sequences.splits);
  return total / number_of_rows(sequences, total);
}

Value sqrt_n(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::sqrt_n", where);
  const Sequences sequences("sequence::sqrt_n", x);
  const Value total = segment_sum(x, sequences.splits);
  return total * rsqrt(number_of_rows(sequences, total));
}

Value max(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::max", where);
  return segment_max(x, nn::splits_of("sequence::max", x))[0];
}

Value min(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::min", where);
  return -segment_max(-x, nn::splits_of("sequence::min", x))[0];
}

Value first(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::first", where);
  const Sequences sequences("sequence::first", x);
  return row_of(sequences, x, sequences.begins());
}

Value last(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::last", where);
  const Sequences sequences("sequence::last", x);
  return row_of(sequences, x, sequences.ends() - 1.0);
}

// Subtracts the maximum of each sequence and column first.
Value softmax(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::softmax", where);
  const Sequences sequences("sequence::softmax", x);
  const Value ids = sequences.ids();
  const Value largest = segment_max(stop_gradient(x), sequences.splits)[0];
  const Value powers = exp(x - gather(largest, ids));
  return powers / gather(segment_sum(powers, sequences.splits), ids);
}

Value reverse(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::reverse", where);
  const Sequences sequences("sequence::reverse", x);
  const Value ends = sequences.begins() + sequences.ends() - 1.0;
  return gather(x, gather(ends, sequences.ids()) - counted(x, {sequences.rows}, 0));
}

Value expand(const Value& x, const Value& like, SourceLocation where) {
  const LocationScope at(x, "sequence::expand", where);
  const Sequences sequences("sequence::expand", like);
  if (x.rank() == 0 || x.dim(0) != sequences.count) {
    nn::fail_layer(
        "sequence::expand",
        "the value does not have one row for each of the " + sequences.count.str() +
            " sequences of " + like.str(),
        "values per sequence come from sequence::mean(), last() ... or from dense inputs", x);
  }
  return gather(x, sequences.ids());
}

namespace {

// `below` is less than every number that is searched; -inf counts as the lowest number.
struct Lowest {
  explicit Lowest(DType dtype) {
    if (dtype == DType::i32) below = number = std::numeric_limits<std::int32_t>::min();
    else if (dtype == DType::i64) below = number = -0x1p63;
    else number = dtype == DType::f32 ? -FLT_MAX : -DBL_MAX;
  }
  double below = -std::numeric_limits<double>::infinity(), number = 0;
};

// Returns the rows of the k largest elements of each sequence and column, i64 [n, k, columns], the
// largest first. Entries beyond the length of a sequence are arbitrary.
Value largest_rows(const Sequences& sequences, const Value& x, std::int64_t k) {
  const Lowest lowest(x.dtype());
  const Value ids = sequences.ids();
  const Value row = counted(x, x.shape(), 0);
  Value left = trireme::where(x < lowest.number, lowest.number, x);
  std::vector<Value> found;
  for (std::int64_t i = 0; i < k; ++i) {
    found.push_back(segment_max(left, sequences.splits)[1]);
    left = trireme::where(equal(gather(found.back(), ids), row), lowest.below, left);
  }
  return stack(found, 1);
}

}  // namespace

Value top_k(const Value& x, const TopKOptions& options, SourceLocation where) {
  const LocationScope at(x, "sequence::top_k", where);
  const Sequences sequences("sequence::top_k", x);
  if (options.k < 1) nn::fail_layer("sequence::top_k", "k must be at least 1", "", x);
  const Shape row(x.shape().begin() + 1, x.shape().end());
  const Dim columns = product(row);
  if (!columns.is_constant()) {
    nn::fail_layer("sequence::top_k", "the rows must have a constant number of elements", "", x);
  }
  const Value flat = trireme::reshape(x, {.shape = {sequences.rows, columns}});
  const Value top_rows = largest_rows(sequences, stop_gradient(flat), options.k);
  const Shape result_shape{sequences.count, options.k, columns};
  const Value position = counted(x, {sequences.count, options.k}, 1);
  const Value exists = position < by_row(sequences.lengths(), position);
  const Value inside = nn::spread(exists, top_rows, {0, 1});
  const Value all = dim_size(x, {.axes = {0}, .dtype = DType::i64});
  Value index = trireme::where(inside, top_rows, all);  // missing elements come last
  if (!options.by_size) index = sort(index, {.axis = 1})[0];
  const Value element =
      index * static_cast<double>(columns.constant()) + counted(x, result_shape, 2);
  const Value values = gather(trireme::reshape(x, {.shape = {sequences.rows * columns}}),
                              trireme::where(inside, element, -1.0));
  Shape shape{sequences.count, options.k};
  shape.insert(shape.end(), row.begin(), row.end());
  return trireme::reshape(trireme::where(inside, values, options.fill), {.shape = shape});
}

}  // namespace trireme::sequence
