#include "ops/reductions.h"

#include <algorithm>
#include <utility>

namespace trireme::ops {
namespace {

std::vector<int> axes_of(const ir::Op& op) {
  return checked_axes(get_attribute<std::vector<std::int64_t>>(op.attributes, "axes"),
                      op.operands[0]->type.rank());
}

}  // namespace

TypeRule reduced_type(Numbers numbers) {
  return [numbers](const TypeContext& c) {
    const Type& x = c.operands[0];
    require(
        is(x.dtype, numbers), [&] { return c.operand_texts[0] + " cannot be reduced by this op"; },
        numbers == Numbers::booleans ? "compare it with a value first" : "cast it to f32 first");
    const auto axes =
        checked_axes(get_attribute<std::vector<std::int64_t>>(c.attributes, "axes"), x.rank());
    return std::vector<Type>{
        {x.dtype, without_axes(x.shape, axes, get_attribute<bool>(c.attributes, "keep"))}};
  };
}

ReferenceRule reduction_reference(double identity, std::function<double(double, double)> f,
                                  std::function<double(double, double)> finish) {
  return [identity, f = std::move(f), finish = std::move(finish)](const Reference& r) {
    const RefTensor& x = *r.operands[0];
    const auto axes = axes_of(r.op);
    Index kept_shape = x.shape;
    double count = 1;
    for (const int axis : axes) {
      count *= static_cast<double>(std::exchange(kept_shape[static_cast<std::size_t>(axis)], 1));
    }
    std::vector<double>& y = r.results[0]->data;
    std::fill(y.begin(), y.end(), identity);
    for_each_index(x.shape, [&](const Index& index) {
      Index kept = index;
      for (const int axis : axes) kept[static_cast<std::size_t>(axis)] = 0;
      double& total = y[static_cast<std::size_t>(position(kept, kept_shape))];
      total = f(total, at(x, index));
    });
    if (!finish) return;
    for (double& total : y) total = finish(total, count);
  };
}

Value spread(const GradientContext& c, const Value& reduced) {
  const Value x = c.operand(0);
  const auto axes = axes_of(c.op());
  Value flat = reduced;
  const Shape shape = without_axes(x.shape(), axes, false);
  if (flat.shape() != shape) flat = reshape(flat, {.shape = shape});
  return broadcast(flat, {.shape = x.shape(), .axes = other_axes(axes, x.rank())});
}

Operand summands(const GradientContext& c) {
  const Value x = c.operand(0);
  const auto axes = axes_of(c.op());
  double count = 1;
  for (const int axis : axes) {
    if (!x.dim(axis).is_constant()) {
      return dim_size(x, {.axes = {axes.begin(), axes.end()}, .dtype = x.dtype()});
    }
    count *= static_cast<double>(x.dim(axis).constant());
  }
  return count;
}

void extremum_gradient(GradientContext& c) {
  const Value x = c.operand(0);
  const bool keep = get_attribute<bool>(c.op().attributes, "keep");
  const auto& axes = get_attribute<std::vector<std::int64_t>>(c.op().attributes, "axes");
  const Value winners = cast(equal(x, spread(c, c.result())), {.dtype = x.dtype()});
  const Value count = sum(winners, {.axes = axes, .keep = keep});
  c.accumulate(0, winners * spread(c, c.gradient() / count));
}

std::vector<Type> position_type(const TypeContext& c) {
  const auto& axes = get_attribute<std::vector<std::int64_t>>(c.attributes, "axes");
  require(axes.size() == 1, "`axes` must be one axis, not " + std::to_string(axes.size()),
          "reshape x so that the elements to compare are along one axis");
  std::vector<Type> types = reduced_type(Numbers::numeric)(c);
  types[0].dtype = DType::i64;
  return types;
}

ReferenceRule position_reference(std::function<bool(double, double)> better) {
  return [better = std::move(better)](const Reference& r) {
    const RefTensor& x = *r.operands[0];
    const auto axis = static_cast<std::size_t>(axes_of(r.op)[0]);
    Index kept_shape = x.shape;
    kept_shape[axis] = 1;
    std::size_t i = 0;
    for_each_index(kept_shape, [&](const Index& kept) {
      Index index = kept;
      double best = 0;
      std::int64_t winner = 0;
      for (index[axis] = 0; index[axis] < x.shape[axis]; ++index[axis]) {
        const double value = at(x, index);
        const bool wins = std::isnan(value) ? !std::isnan(best) : better(value, best);
        if (index[axis] > 0 && !wins) continue;
        best = value;
        winner = index[axis];
      }
      r.results[0]->data[i++] = static_cast<double>(winner);
    });
  };
}

std::vector<Sample> position_samples() {
  const auto sample = [](std::vector<std::int64_t> shape, std::int64_t axis, bool keep,
                         DType dtype = DType::f32) {
    Sample s;
    s.operands = {type_of(std::move(shape), dtype)};
    s.attributes = {{"axes", std::vector<std::int64_t>{axis}}, {"keep", keep}};
    s.check_gradient = false;  // an index has no gradient
    return s;
  };
  return {sample({5, 37}, -1, false),
          sample({37, 5}, 0, false),
          sample({3, 4, 5}, 1, true),
          sample({1}, 0, false),
          sample({0, 3}, 1, false),
          sample({4, 41}, 1, false, DType::i32),
          sample({41, 3}, 0, true, DType::i64)};
}

std::vector<Sample> reduction_samples(bool empty, DType dtype) {
  using Axes = std::vector<std::int64_t>;
  const auto sample = [&](std::vector<std::int64_t> shape, Axes axes, bool keep) {
    Sample s;
    s.operands = {type_of(std::move(shape), dtype)};
    s.attributes = {{"axes", std::move(axes)}, {"keep", keep}};
    return s;
  };
  std::vector<Sample> samples = {
      sample({5, 37}, {1}, false),   sample({5, 37}, {-1}, true),
      sample({37, 5}, {0}, false),   sample({3, 4, 5}, {0, 2}, true),
      sample({3, 4, 5}, {1}, false), sample({2, 3, 4, 5}, {0, 2, 3}, false),
      sample({7, 3}, {}, false),     sample({7, 3}, {}, true),
      sample({1}, {0}, false),       sample({}, {}, false),
      sample({0, 3}, {1}, false),
  };
  if (empty) {
    samples.push_back(sample({0, 3}, {0}, false));
    samples.push_back(sample({3, 0}, {1}, true));
    samples.push_back(sample({0}, {}, false));
  }
  return samples;
}

}  // namespace trireme::ops
