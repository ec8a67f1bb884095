#include "ops/index.h"

namespace trireme::ops {
namespace {

using Ints = std::vector<std::int64_t>;

std::int64_t interior_of(const Attributes& attributes, std::size_t axis) {
  const Ints& interior = get_attribute<Ints>(attributes, "interior");
  return interior.empty() ? 0 : interior[axis];
}

std::vector<Type> pad_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const auto rank = static_cast<std::size_t>(x.rank());
  const Shape& low = get_attribute<Shape>(c.attributes, "low");
  const Shape& high = get_attribute<Shape>(c.attributes, "high");
  const Ints& interior = get_attribute<Ints>(c.attributes, "interior");
  require(is_arithmetic_float(x.dtype) || x.dtype != DType::boolean,
          "pad needs a numeric dtype, not " + c.operand_texts[0], "cast it first");
  require(
      low.size() == rank && high.size() == rank && (interior.empty() || interior.size() == rank),
      "pad needs `low` and `high` for each axis of " + c.operand_texts[0],
      "low 0 and high 0 leave an axis unchanged");
  Type result{x.dtype, {}, ""};
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t gap = interior_of(c.attributes, i);
    require(never_negative(low[i]) && never_negative(high[i]) && gap >= 0,
            "pad axis " + std::to_string(i) + " of " + c.operand_texts[0] + " by " + low[i].str() +
                " and " + high[i].str() + ": padding must not be negative",
            "use slice to remove elements");
    require(gap == 0 || x.shape[i].is_constant(),
            "cannot pad between the elements of the symbolic axis " + std::to_string(i) + " of " +
                c.operand_texts[0]);
    const bool gaps = gap > 0 && x.shape[i].constant() > 0;
    result.shape.push_back(low[i] + x.shape[i] + high[i] +
                           (gaps ? (x.shape[i] - 1) * gap : Dim(0)));
  }
  return {result};
}

ExprId lower_pad(Lowering& l) {
  Builder& k = l.k();
  const Attributes& attributes = l.op().attributes;
  const Shape& low = get_attribute<Shape>(attributes, "low");
  const Shape& high = get_attribute<Shape>(attributes, "high");
  const Type& x = l.op().operands[0]->type;
  std::vector<ExprId> index;
  ExprId inside = k.boolean(true);
  for (std::size_t i = 0; i < low.size(); ++i) {
    const std::int64_t step = interior_of(attributes, i) + 1;
    ExprId place = k.sub(l.index()[i], l.dim(low[i]));
    if (low[i] != Dim(0)) inside = k.logical_and(inside, k.le(k.integer(0), place));
    if (step > 1) {
      inside = k.logical_and(inside, k.eq(k.rem(place, k.integer(step)), k.integer(0)));
      place = k.div(place, k.integer(step));
    }
    if (high[i] != Dim(0) || step > 1) {
      inside = k.logical_and(inside, k.lt(place, l.dim(x.shape[i])));
    }
    index.push_back(place);
  }
  const ExprId value = l.load(0, index, inside);
  const double filler = get_attribute<double>(attributes, "value");
  return filler == 0 ? value : k.select(inside, value, number(k, value, filler));
}

void pad_reference(const Reference& r) {
  const Attributes& attributes = r.op.attributes;
  const Shape& low = get_attribute<Shape>(attributes, "low");
  for (double& y : r.results[0]->data) y = get_attribute<double>(attributes, "value");
  for_each_index(r.operands[0]->shape, [&](const Index& index) {
    Index target = index;
    for (std::size_t i = 0; i < index.size(); ++i) {
      target[i] = low[i].constant() + index[i] * (interior_of(attributes, i) + 1);
    }
    at(*r.results[0], target) = at(*r.operands[0], index);
  });
}

void pad_gradient_rule(GradientContext& c) {
  const Attributes& attributes = c.op().attributes;
  SliceAttrs part;
  part.starts = get_attribute<Shape>(attributes, "low");
  const Shape& high = get_attribute<Shape>(attributes, "high");
  for (std::size_t i = 0; i < part.starts.size(); ++i) {
    part.limits.push_back(c.result().shape()[i] - high[i]);
    part.strides.push_back(interior_of(attributes, i) + 1);
  }
  c.accumulate(0, slice(c.gradient(), part));
}

Sample pad_sample(std::vector<std::int64_t> shape, Shape low, Shape high, Ints interior = {},
                  double value = 0) {
  Sample s;
  s.operands = {type_of(std::move(shape))};
  s.attributes = {{"high", std::move(high)},
                  {"interior", std::move(interior)},
                  {"low", std::move(low)},
                  {"value", value}};
  return s;
}

}  // namespace

Op pad() {
  Op op("pad(x; low: shape, high: shape, interior: ints = [], value: float = 0)");
  op.doc =
      "Adds elements `value` along each axis i.\n"
      "low[i] elements come first, high[i] come last, and interior[i] come between "
      "neighbors.\n"
      "The padding must not be negative.";
  op.traits = bits(Trait::view);
  op.type = pad_type;
  op.row_wise = [](const ir::Op& o, const std::vector<bool>& rows) {
    return rows[0] && o.result()->type.shape[0] == o.operands[0]->type.shape[0];
  };
  op.lower = lower_pad;
  op.reference = pad_reference;
  op.gradient = pad_gradient_rule;
  op.torch_reference =
      "(lambda y: (y.__setitem__(tuple(slice(int(low[i]), int(low[i]) + n + max(n - 1, 0) * g, "
      "g + 1) for i, (n, g) in enumerate(zip(x[0].shape, interior or [0] * x[0].dim()))), x[0]),"
      " y)[1])(torch.full([int(low[i]) + n + max(n - 1, 0) * g + int(high[i]) for i, (n, g) in "
      "enumerate(zip(x[0].shape, interior or [0] * x[0].dim()))], float(value), "
      "dtype=x[0].dtype))";
  op.samples = {pad_sample({5, 7}, {1, 2}, {0, 3}),
                pad_sample({4}, {2}, {1}, {}, 1.5),
                pad_sample({3, 5}, {0, 1}, {2, 0}, {1, 2}),
                pad_sample({1}, {0}, {4}, {3}),
                pad_sample({2, 3, 4}, {0, 0, 0}, {0, 0, 0}),
                pad_sample({0, 3}, {0, 1}, {2, 0}),
                pad_sample({}, {}, {})};
  return op;
}

}  // namespace trireme::ops
