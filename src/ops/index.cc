#include "ops/index.h"

#include <algorithm>
#include <bit>

namespace trireme::ops {

void for_each_index(const Index& shape, const std::function<void(const Index&)>& f) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  Index index(shape.size(), 0);
  while (true) {
    f(index);
    std::size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

std::int64_t position(const Index& index, const Index& shape) {
  std::int64_t result = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) result = result * shape[i] + index[i];
  return result;
}

double& at(RefTensor& tensor, const Index& index) {
  return tensor.data[static_cast<std::size_t>(position(index, tensor.shape))];
}

double at(const RefTensor& tensor, const Index& index) {
  return tensor.data[static_cast<std::size_t>(position(index, tensor.shape))];
}

bool never_negative(const Dim& dim) {
  const auto terms = dim.terms();
  return std::all_of(terms.begin(), terms.end(), [](const auto& term) { return term.second >= 0; });
}

Shape without_axes(const Shape& shape, const std::vector<int>& axes, bool keep) {
  Shape result;
  for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
    const bool dropped = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!dropped) result.push_back(shape[static_cast<std::size_t>(i)]);
    if (dropped && keep) result.emplace_back(1);
  }
  return result;
}

std::vector<std::int64_t> other_axes(const std::vector<int>& axes, int rank) {
  std::vector<std::int64_t> result;
  for (int i = 0; i < rank; ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) result.push_back(i);
  }
  return result;
}

ExprId quotient(Builder& k, ExprId a, std::int64_t n) {
  if (n == 1) return a;
  if (!std::has_single_bit(static_cast<std::uint64_t>(n))) return k.div(a, k.integer(n));
  return k.binary(ExprOp::shr, a, k.integer(std::countr_zero(static_cast<std::uint64_t>(n))));
}

ExprId remainder(Builder& k, ExprId a, std::int64_t n) {
  if (n == 1) return k.integer(0);
  if (!std::has_single_bit(static_cast<std::uint64_t>(n))) return k.rem(a, k.integer(n));
  return k.binary(ExprOp::bit_and, a, k.integer(n - 1));
}

ExprId in_range(Builder& k, ExprId a, ExprId low, ExprId high) {
  return k.logical_and(k.le(low, a), k.lt(a, high));
}

}  // namespace trireme::ops
