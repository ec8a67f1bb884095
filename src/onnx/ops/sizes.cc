#include "onnx/ops/sizes.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace trireme::onnx {
namespace {

bool is_scalar(const NodeContext& n, std::size_t i) { return n.rank(i) == 0; }

// Element i of an input, which is repeated if it has one element.
const Dim& element(const Shape& dims, std::size_t i) { return dims[dims.size() == 1 ? 0 : i]; }

template <class Combine>
bool combine(NodeContext& n, const Combine& combine) {
  const Shape a = n.sizes(0, ""), b = n.sizes(1, "");
  const std::size_t count = a.size() == 1 ? b.size() : a.size();
  if (b.size() != 1 && b.size() != count) return false;
  Shape result;
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<Dim> dim = combine(element(a, i), element(b, i));
    if (!dim) return false;
    result.push_back(*dim);
  }
  n.set_sizes(0, std::move(result), is_scalar(n, 0) && is_scalar(n, 1), n.type(0));
  return true;
}

// Whether it is at least 0 for all sizes of the symbols.
bool is_never_negative(const Dim& dim) {
  if (dim.is_constant()) return dim.constant() >= 0;
  const auto terms = dim.terms();
  return std::all_of(terms.begin(), terms.end(), [](const auto& term) { return term.second >= 0; });
}

// Whether they are equal, if that is the same for all sizes of the symbols.
std::optional<bool> are_equal(const Dim& a, const Dim& b) {
  if (a == b) return true;
  const Dim difference = a - b;
  if (difference.is_constant()) return false;
  const bool opposite = (is_never_negative(a) && b.is_constant() && b.constant() < 0) ||
                        (is_never_negative(b) && a.is_constant() && a.constant() < 0);
  if (opposite) return false;
  return std::nullopt;
}

}  // namespace

bool add_sizes(NodeContext& n) {
  return combine(n, [](const Dim& a, const Dim& b) { return std::optional(a + b); });
}

bool subtract_sizes(NodeContext& n) {
  return combine(n, [](const Dim& a, const Dim& b) { return std::optional(a - b); });
}

bool multiply_sizes(NodeContext& n) {
  return combine(n, [](const Dim& a, const Dim& b) { return std::optional(a * b); });
}

bool divide_sizes(NodeContext& n) {
  return combine(n, [](const Dim& a, const Dim& b) -> std::optional<Dim> {
    if (b.is_constant() && b.constant() == 0) return std::nullopt;
    if (a.is_constant() && b.is_constant()) return Dim(a.constant() / b.constant());
    return a.divided_by(b);
  });
}

bool compare_sizes(NodeContext& n) {
  const Shape a = n.sizes(0, ""), b = n.sizes(1, "");
  const std::size_t count = a.size() == 1 ? b.size() : a.size();
  if (b.size() != 1 && b.size() != count) return false;
  const bool scalar = is_scalar(n, 0) && is_scalar(n, 1);
  Tensor result(boolean, scalar ? std::vector<std::int64_t>{}
                                : std::vector<std::int64_t>{static_cast<std::int64_t>(count)});
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<bool> same = are_equal(element(a, i), element(b, i));
    if (!same) return false;
    result.data<bool>()[i] = *same;
  }
  n.set_known(0, std::move(result));
  return true;
}

bool choose_sizes(NodeContext& n) {
  if (!n.item(0).known || n.rank(0) > 1) return false;
  const std::vector<std::int64_t> condition = n.known_integers(0, "");
  const Shape a = n.sizes(1, ""), b = n.sizes(2, "");
  const std::size_t count = std::max({condition.size(), a.size(), b.size()});
  Shape result;
  for (std::size_t i = 0; i < count; ++i) {
    const bool first = condition[condition.size() == 1 ? 0 : i] != 0;
    result.push_back(element(first ? a : b, i));
  }
  const bool scalar = is_scalar(n, 0) && is_scalar(n, 1) && is_scalar(n, 2);
  n.set_sizes(0, std::move(result), scalar, n.type(1));
  return true;
}

bool keep_sizes(NodeContext& n) {
  n.set(0, n.item(0));
  return true;
}

bool cast_sizes(NodeContext& n) {
  const auto to = static_cast<ElementType>(n.integer("to", static_cast<int>(n.type(0))));
  if (to != ElementType::i64 && to != ElementType::i32) return false;
  n.set_sizes(0, n.sizes(0, ""), is_scalar(n, 0), to);
  return true;
}

}  // namespace trireme::onnx
