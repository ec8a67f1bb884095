#include "ops/index.h"

namespace trireme::ops {
namespace {

using Axes = std::vector<std::int64_t>;

const Axes& axes_of(const Attributes& attributes) {
  return get_attribute<Axes>(attributes, "axes");
}

std::vector<Type> broadcast_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const Shape& shape = get_attribute<Shape>(c.attributes, "shape");
  const Axes& axes = axes_of(c.attributes);
  const auto message = [&](const std::string& mistake) {
    return "cannot broadcast " + c.operand_texts[0] + " to " + str(shape) + ": " + mistake;
  };
  require(static_cast<int>(axes.size()) == x.rank(), [&] {
    return message("axes " + print_attribute(axes) +
                   " must name one axis of the result for every axis of x");
  });
  for (std::size_t i = 0; i < axes.size(); ++i) {
    require(
        axes[i] >= 0 && axes[i] < static_cast<std::int64_t>(shape.size()) &&
            (i == 0 || axes[i - 1] < axes[i]),
        [&] {
          return message("axes " + print_attribute(axes) +
                         " must be in rising order and in the range of the result");
        },
        "transpose x first to change the order of its axes");
    const Dim& dim = shape[static_cast<std::size_t>(axes[i])];
    require(
        dim == x.shape[i],
        [&] {
          return message("axis " + std::to_string(i) + " of x has size " + x.shape[i].str() +
                         " and would become axis " + std::to_string(axes[i]) + " of size " +
                         dim.str());
        },
        x.shape[i] == Dim(1) ? "reshape x so that it has no axis of size 1 there" : "");
  }
  Type result{x.dtype, shape, ""};
  return {result};
}

ExprId lower_broadcast(Lowering& l) {
  std::vector<ExprId> index;
  for (const std::int64_t axis : axes_of(l.op().attributes)) {
    index.push_back(l.index()[static_cast<std::size_t>(axis)]);
  }
  return l.load(0, index);
}

void broadcast_reference(const Reference& r) {
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    Index source;
    for (const std::int64_t axis : axes_of(r.op.attributes)) {
      source.push_back(index[static_cast<std::size_t>(axis)]);
    }
    at(*r.results[0], index) = at(*r.operands[0], source);
  });
}

void broadcast_gradient_rule(GradientContext& c) {
  const Axes& axes = axes_of(c.op().attributes);
  const std::vector<int> kept(axes.begin(), axes.end());
  const Axes added = other_axes(kept, c.result().rank());
  c.accumulate(0, added.empty() ? c.gradient() : sum(c.gradient(), {.axes = added}));
}

Sample broadcast_sample(std::vector<std::int64_t> from, Shape to, Axes axes) {
  Sample s;
  s.operands = {type_of(std::move(from))};
  s.attributes = {{"axes", std::move(axes)}, {"shape", std::move(to)}};
  return s;
}

}  // namespace

Op broadcast() {
  Op op("broadcast(x; shape: shape, axes: ints)");
  op.doc =
      "Repeats x along new axes.\n"
      "Axis i of x becomes axis `axes[i]` of the result, in rising order and with unchanged "
      "size.\n"
      "Along all other axes of `shape` the elements are repeated.";
  op.traits = Trait::view | Trait::cheap | Trait::broadcast;
  op.type = broadcast_type;
  op.row_wise = [](const ir::Op& o, const std::vector<bool>& rows) {
    const auto& axes = get_attribute<std::vector<std::int64_t>>(o.attributes, "axes");
    return !rows[0] || axes[0] == 0;
  };
  op.lower = lower_broadcast;
  op.reference = broadcast_reference;
  op.gradient = broadcast_gradient_rule;
  op.torch_reference =
      "x[0].reshape([shape[i] if i in axes else 1 for i in range(len(shape))])"
      ".expand(tuple(shape))";
  op.samples = {broadcast_sample({37}, {5, 37}, {1}),
                broadcast_sample({5}, {5, 37}, {0}),
                broadcast_sample({3, 5}, {3, 4, 5}, {0, 2}),
                broadcast_sample({}, {3, 3}, {}),
                broadcast_sample({3}, {3}, {0}),
                broadcast_sample({7}, {2, 7, 3, 5}, {1}),
                broadcast_sample({0}, {3, 0}, {1}),
                broadcast_sample({3}, {0, 3}, {1})};
  return op;
}

}  // namespace trireme::ops
