// Sequences to and from dense tensors.
#include <vector>

#include "nn/layer.h"
#include "nn/sequences.h"
#include "trireme/functions.h"
#include "trireme/ops.h"
#include "trireme/sequence.h"

namespace trireme::sequence {

using nn::At;
using nn::by_row;
using nn::counted;
using nn::Sequences;

namespace {

// i64 [n, length]: how many rows are before this one in its sequence.
Value places(const Sequences& sequences, const Dim& length) {
  return counted(sequences.splits, {sequences.count, length}, 1);
}

}  // namespace

Dim longest(const Value& x, SourceLocation where) {
  const At at(x, "sequence::longest", where);
  const Value lengths = Sequences("sequence::longest", x).lengths();
  const Value most =
      reduce_max(trireme::pad(lengths, {.low = {0}, .high = {1}, .value = 1}), {.keep = true});
  return Sequences(most, Dim(std::string_view("longest"))).rows;
}

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
