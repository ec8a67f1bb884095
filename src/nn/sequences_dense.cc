// Conversion of sequences to and from dense tensors.
#include <vector>

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

// Returns i64 [n, length]: the position of each column in its sequence.
Value column_positions(const Sequences& sequences, const Dim& length) {
  return counted(sequences.splits, {sequences.count, length}, 1);
}

}  // namespace

Dim longest(const Value& x, SourceLocation where) {
  const LocationScope at(x, "sequence::longest", where);
  const Value lengths = Sequences("sequence::longest", x).lengths();
  const Value max_length =
      reduce_max(trireme::pad(lengths, {.low = {0}, .high = {1}, .value = 1}), {.keep = true});
  return Sequences(max_length, Dim(std::string_view("longest"))).rows;
}

Value mask(const Value& like, const Dim& length, SourceLocation where) {
  const LocationScope at(like, "sequence::mask", where);
  const Sequences sequences("sequence::mask", like);
  const Value position = column_positions(sequences, length);
  return position < by_row(sequences.lengths(), position);
}

Value pad(const Value& x, const Dim& length, double fill, SourceLocation where) {
  const LocationScope at(x, "sequence::pad", where);
  const Sequences sequences("sequence::pad", x);
  const Value position = column_positions(sequences, length);
  const Value inside = position < by_row(sequences.lengths(), position);
  const Value rows =
      gather(x, trireme::where(inside, position + by_row(sequences.begins(), position), -1.0));
  return trireme::where(nn::spread(inside, rows, {0, 1}), rows, fill);
}

Value unpad(const Value& x, const Value& like, SourceLocation where) {
  const LocationScope at(x, "sequence::unpad", where);
  const Sequences sequences("sequence::unpad", like);
  if (x.rank() < 2 || x.dim(0) != sequences.count) {
    nn::fail_layer("sequence::unpad",
                   "it does not have one line for each sequence of " + like.str(),
                   "x must be [n, length, ...]", x);
  }
  Shape shape(x.shape().begin() + 1, x.shape().end());
  shape[0] = x.dim(0) * x.dim(1);
  const Value line = dim_size(x, {.axes = {1}, .dtype = DType::i64});
  const Value position = minimum(sequences.positions(), line - 1.0);
  return gather(trireme::reshape(x, {.shape = shape}), sequences.ids() * line + position);
}

}  // namespace trireme::sequence
