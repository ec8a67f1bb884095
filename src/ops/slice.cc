#include "ops/index.h"

namespace trireme::ops {
namespace {

using Ints = std::vector<std::int64_t>;

std::int64_t stride_of(const Attributes& attributes, std::size_t axis) {
  const Ints& strides = get_attribute<Ints>(attributes, "strides");
  return strides.empty() ? 1 : strides[axis];
}

Dim limit_of(const Attributes& attributes, const Type& x, std::size_t axis) {
  const Dim& limit = get_attribute<Shape>(attributes, "limits")[axis];
  return limit == Dim(-1) ? x.shape[axis] : limit;
}

Dim sliced(const TypeContext& c, std::size_t axis) {
  const Type& x = c.operands[0];
  const Dim& start = get_attribute<Shape>(c.attributes, "starts")[axis];
  const Dim limit = limit_of(c.attributes, x, axis);
  const std::int64_t stride = stride_of(c.attributes, axis);
  const std::string what = "slice from " + start.str() + " to " + limit.str() + " of axis " +
                           std::to_string(axis) + " of " + c.operand_texts[0];
  require(stride > 0,
          what + " with stride " + std::to_string(stride) + ": strides must be positive");
  require(never_negative(start) && never_negative(limit - start) &&
              never_negative(x.shape[axis] - limit),
          what + " is not inside the axis for all sizes of the symbols",
          "0 <= start <= limit <= size; -1 as a limit means the end");
  const Dim length = limit - start;
  if (stride == 1) return length;
  require(length.is_constant(),
          what + " has a symbolic length and stride " + std::to_string(stride),
          "slice with stride 1, or along an axis of constant size");
  return length.constant() == 0 ? 0 : (length.constant() - 1) / stride + 1;
}

std::vector<Type> slice_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const auto rank = static_cast<std::size_t>(x.rank());
  const Ints& strides = get_attribute<Ints>(c.attributes, "strides");
  require(get_attribute<Shape>(c.attributes, "starts").size() == rank &&
              get_attribute<Shape>(c.attributes, "limits").size() == rank &&
              (strides.empty() || strides.size() == rank),
          "slice needs a start and a limit for each axis of " + c.operand_texts[0],
          "start 0 and limit -1 keep a whole axis");
  Type result{x.dtype, {}, ""};
  for (std::size_t i = 0; i < rank; ++i) result.shape.push_back(sliced(c, i));
  return {result};
}

ExprId lower_slice(Lowering& l) {
  Builder& k = l.k();
  const Shape& starts = get_attribute<Shape>(l.op().attributes, "starts");
  std::vector<ExprId> index;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const ExprId step = k.integer(stride_of(l.op().attributes, i));
    index.push_back(k.add(k.mul(l.index()[i], step), l.dim(starts[i])));
  }
  return l.load(0, index);
}

void slice_reference(const Reference& r) {
  const Shape& starts = get_attribute<Shape>(r.op.attributes, "starts");
  for_each_index(r.results[0]->shape, [&](const Index& index) {
    Index source = index;
    for (std::size_t i = 0; i < index.size(); ++i) {
      source[i] = starts[i].evaluate(r.sizes) + index[i] * stride_of(r.op.attributes, i);
    }
    at(*r.results[0], index) = at(*r.operands[0], source);
  });
}

// Pads the gradient with zeros at both ends and, for a stride, between its elements.
void slice_gradient_rule(GradientContext& c) {
  const Attributes& attributes = c.op().attributes;
  const Shape& starts = get_attribute<Shape>(attributes, "starts");
  PadAttrs padding;
  padding.low = starts;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t stride = stride_of(attributes, i);
    const Dim& size = c.operand(0).shape()[i];
    const Dim& count = c.result().shape()[i];
    const Dim covered = count == Dim(0) ? Dim(0) : (count - 1) * stride + 1;
    padding.high.push_back(size - starts[i] - (stride == 1 ? count : covered));
    padding.interior.push_back(stride - 1);
  }
  c.accumulate(0, pad(c.gradient(), padding));
}

Sample slice_sample(std::vector<std::int64_t> shape, Shape starts, Shape limits,
                    Ints strides = {}) {
  Sample s;
  s.operands = {type_of(std::move(shape))};
  s.attributes = {{"limits", std::move(limits)},
                  {"starts", std::move(starts)},
                  {"strides", std::move(strides)}};
  return s;
}

}  // namespace

Op slice() {
  Op op("slice(x; starts: shape, limits: shape, strides: ints = [])");
  op.doc =
      "The elements with starts[i] <= index < limits[i] along each axis i, every "
      "strides[i]-th of them.\n"
      "A limit of -1 is the end of the axis, and an empty list of strides means 1.\n"
      "Starts and limits may be symbolic if they are always inside the axis, such as 0 to "
      "`batch`.";
  op.traits = bits(Trait::view);
  op.type = slice_type;
  op.row_wise = [](const ir::Op& o, const std::vector<bool>&) {
    const Dim& limit = get_attribute<Shape>(o.attributes, "limits")[0];
    return o.result()->type.shape[0] == o.operands[0]->type.shape[0] &&
           (limit == Dim(-1) || limit == o.operands[0]->type.shape[0]);
  };
  op.lower = lower_slice;
  op.reference = slice_reference;
  op.gradient = slice_gradient_rule;
  op.torch_reference =
      "x[0][tuple(slice(int(a), None if b == -1 else int(b), (strides or [1] * len(starts))[i])"
      " for i, (a, b) in enumerate(zip(starts, limits)))]";
  op.samples = {slice_sample({5, 37}, {1, 3}, {4, 30}),
                slice_sample({5, 37}, {0, 1}, {-1, -1}),
                slice_sample({9, 8}, {1, 0}, {8, 8}, {3, 2}),
                slice_sample({7}, {6}, {7}),
                slice_sample({7}, {2}, {2}),
                slice_sample({2, 3, 4}, {0, 1, 0}, {2, 3, 4}, {1, 1, 3}),
                slice_sample({0, 3}, {0, 1}, {0, 2}),
                slice_sample({}, {}, {})};
  return op;
}

}  // namespace trireme::ops
