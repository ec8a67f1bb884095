#include <algorithm>

#include "ops/index.h"

namespace trireme::ops {
namespace {

using Axes = std::vector<std::int64_t>;

const Axes& permutation_of(const Attributes& attributes) {
  return get_attribute<Axes>(attributes, "permutation");
}

std::vector<Type> transpose_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const Axes& permutation = permutation_of(c.attributes);
  Axes sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool holds = static_cast<int>(sorted.size()) == x.rank();
  for (std::size_t i = 0; i < sorted.size() && holds; ++i) {
    holds = sorted[i] == static_cast<std::int64_t>(i);
  }
  require(
      holds,
      [&] {
        return "permutation " + print_attribute(permutation) + " does not contain every axis of " +
               c.operand_texts[0] + " once";
      },
      "axis i of the result is axis permutation[i] of x; {1, 0} transposes a matrix");
  Type result{x.dtype, {}, ""};
  for (const std::int64_t axis : permutation) {
    result.shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  }
  return {result};
}

template <class Id>
std::vector<Id> inverse_permuted(std::span<const Id> index, const Axes& permutation) {
  std::vector<Id> result(index.size());
  for (std::size_t i = 0; i < index.size(); ++i) {
    result[static_cast<std::size_t>(permutation[i])] = index[i];
  }
  return result;
}

void transpose_gradient_rule(GradientContext& c) {
  const Axes& permutation = permutation_of(c.op().attributes);
  Axes inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  }
  c.accumulate(0, transpose(c.gradient(), {.permutation = inverse}));
}

void transpose_reference(const Reference& r) {
  const Axes& permutation = permutation_of(r.op.attributes);
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    at(*r.results[0], index) =
        at(*r.operands[0], inverse_permuted<std::int64_t>(std::span(index), permutation));
  });
}

Sample transpose_sample(std::vector<std::int64_t> shape, Axes permutation) {
  Sample s;
  s.operands = {type_of(std::move(shape))};
  s.attributes = {{"permutation", std::move(permutation)}};
  return s;
}

}  // namespace

Op transpose() {
  Op op("transpose(x; permutation: ints)");
  op.doc =
      "Permutes the axes: axis i of the result is axis `permutation[i]` of x.\n"
      "`permutation` contains every axis once.";
  op.traits = bits(Trait::view);
  op.type = transpose_type;
  op.row_wise = [](const ir::Op& made, const std::vector<bool>&) {
    return get_attribute<std::vector<std::int64_t>>(made.attributes, "permutation")[0] == 0;
  };
  op.lower = [](Lowering& l) {
    return l.load(0, inverse_permuted(l.index(), permutation_of(l.op().attributes)));
  };
  op.reference = transpose_reference;
  op.gradient = transpose_gradient_rule;
  op.torch_reference = "x[0].permute(tuple(permutation))";
  op.samples = {transpose_sample({5, 7}, {1, 0}),
                transpose_sample({2, 3, 4}, {2, 0, 1}),
                transpose_sample({2, 3, 4, 5}, {0, 2, 3, 1}),
                transpose_sample({3, 37, 2}, {0, 2, 1}),
                transpose_sample({6}, {0}),
                transpose_sample({}, {}),
                transpose_sample({0, 3}, {1, 0})};
  return op;
}

}  // namespace trireme::ops
