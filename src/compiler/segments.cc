#include "compiler/segments.h"

namespace trireme::compiler {
namespace {

using ir::Op;
using ir::Trait;

// Marks the borders between dimensions of `domain` that `op` distinguishes.
void add_borders(const Op& op, const Domain& domain, std::vector<bool>& border, bool& reshapes) {
  if (op.has(Trait::elementwise) || op.has(Trait::reduction) || op.has(Trait::side_effect) ||
      op.has(Trait::constant)) {
    return;
  }
  const Shape& shape = op.result()->type.shape;
  if (op.has(Trait::random)) return;  // needs only the position
  if (op.has(Trait::reshape)) {
    reshapes = true;
    return;
  }
  if (!domain.is_full(shape)) return;  // a row value: its dimensions are separate loops
  if (op.has(Trait::broadcast)) {
    std::vector<bool> kept(shape.size(), false);
    for (const std::int64_t axis :
         get_attribute<std::vector<std::int64_t>>(op.attributes, "axes")) {
      kept[static_cast<std::size_t>(axis)] = true;
    }
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) {
      if (kept[i] != kept[i + 1]) border[i] = true;
    }
    return;
  }
  border.assign(border.size(), true);
}

// Joins a dimension of size 1 to the one before it or, at the front, to the one after it. The
// column of a table of single numbers is then vectorized instead of being processed one row at a
// time.
void join_ones(const Shape& shape, std::vector<bool>& border) {
  bool in_front = true;  // only ones so far
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) {
    in_front = in_front && shape[i] == Dim(1);
    if (in_front || shape[i + 1] == Dim(1)) border[i] = false;
  }
}

}  // namespace

std::vector<Segment> make_segments(const Group& group) {
  const Domain& domain = group.domain;
  const std::size_t rank = domain.shape.size();
  if (rank == 0) return {};
  std::vector<bool> border(rank, false);
  bool reshapes = false;
  for (const Op* op : group.ops) add_borders(*op, domain, border, reshapes);
  join_ones(domain.shape, border);
  bool any_border = domain.has_reduction;
  for (std::size_t i = 0; i + 1 < rank; ++i) {
    if (domain.reduced[i] != domain.reduced[i + 1]) border[i] = true;
    any_border = any_border || border[i];
  }
  // A reshape keeps positions. If nothing else distinguishes dimensions, all are one loop.
  // Otherwise its borders may be anywhere.
  if (reshapes && any_border) border.assign(rank, true);

  std::vector<Segment> segments;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i == 0 || border[i - 1]) segments.push_back({i, i, 1, domain.reduced[i]});
    segments.back().last = i;
    segments.back().extent = segments.back().extent * domain.shape[i];
  }
  return segments;
}

}  // namespace trireme::compiler
