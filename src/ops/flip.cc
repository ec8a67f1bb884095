#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<int> axes_of(const Attributes& attributes, int rank) {
  return checked_axes(get_attribute<std::vector<std::int64_t>>(attributes, "axes"), rank);
}

std::vector<Type> flip_type(const TypeContext& c) {
  axes_of(c.attributes, c.operands[0].rank());  // checks the axes
  return {c.operands[0]};
}

ExprId lower_flip(Lowering& l) {
  Builder& k = l.k();
  const Type& x = l.op().operands[0]->type;
  std::vector<ExprId> index(l.index().begin(), l.index().end());
  for (const int axis : axes_of(l.op().attributes, x.rank())) {
    const auto i = static_cast<std::size_t>(axis);
    index[i] = k.sub(k.sub(l.dim(x.shape[i]), k.integer(1)), index[i]);
  }
  return l.load(0, index);
}

void flip_reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  const auto axes = axes_of(r.op.attributes, static_cast<int>(x.shape.size()));
  for_each_index(x.shape, [&](const Index& index) {
    Index target = index;
    for (const int axis : axes) {
      const auto i = static_cast<std::size_t>(axis);
      target[i] = x.shape[i] - 1 - index[i];
    }
    at(*r.results[0], target) = at(x, index);
  });
}

Sample flip_sample(std::vector<std::int64_t> shape, std::vector<std::int64_t> axes) {
  Sample s;
  s.operands = {type_of(std::move(shape))};
  s.attributes = {{"axes", std::move(axes)}};
  return s;
}

}  // namespace

Op flip() {
  Op op("flip(x; axes: ints = [])");
  op.doc =
      "Reverses the order of the elements along `axes`, or along all axes if the list is "
      "empty.";
  op.traits = bits(Trait::view);
  op.type = flip_type;
  op.row_wise = along_other_axes;
  op.mixed_axes = axes_of_attributes;
  op.lower = lower_flip;
  op.reference = flip_reference;
  op.gradient = [](GradientContext& c) {
    const auto& axes = get_attribute<std::vector<std::int64_t>>(c.op().attributes, "axes");
    c.accumulate(0, flip(c.gradient(), {.axes = axes}));
  };
  op.torch_reference = "torch.flip(x[0], axes or list(range(x[0].dim())))";
  op.samples = {flip_sample({5, 37}, {1}),       flip_sample({5, 37}, {0}),
                flip_sample({3, 4, 5}, {-1, 0}), flip_sample({3, 4, 5}, {}),
                flip_sample({1}, {0}),           flip_sample({}, {}),
                flip_sample({0, 3}, {1})};
  return op;
}

}  // namespace trireme::ops
