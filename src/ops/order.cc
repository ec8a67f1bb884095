#include "ops/order.h"

#include <algorithm>

namespace trireme::ops {
namespace {

// Whether a, which follows b, must move before b. Equal elements keep their order.
bool must_precede(double a, double b, bool descending) {
  if (descending) std::swap(a, b);
  return a < b || (std::isnan(b) && !std::isnan(a));
}

// Returns the indices of `line` in sorted order, by insertion sort.
std::vector<std::size_t> sorted(const std::vector<double>& line, bool descending) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < line.size(); ++i) {
    std::size_t place = i;
    while (place > 0 && must_precede(line[i], line[order[place - 1]], descending)) --place;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), i);
  }
  return order;
}

}  // namespace

std::vector<Type> ordered_type(const TypeContext& c, const Dim* count) {
  Type values = c.operands[0];
  require(is(values.dtype, Numbers::common), c.operand_texts[0] + " cannot be sorted",
          "cast it first");
  const std::size_t axis = axis_of(c.attributes, values.rank());
  if (count != nullptr) values.shape[axis] = *count;
  return {values, Type{DType::i64, values.shape}};
}

ReferenceRule order_reference(std::function<bool(const Attributes&)> descending) {
  return [descending = std::move(descending)](const Reference& r) {
    const RefTensor& x = *r.operands[0];
    RefTensor& indices = *r.results.back();
    const std::size_t axis = axis_of(r.op.attributes, static_cast<int>(x.shape.size()));
    Index starts = x.shape;
    starts[axis] = indices.shape[axis] > 0 ? 1 : 0;
    for_each_index(starts, [&](const Index& start) {
      std::vector<double> line;
      Index index = start;
      for (index[axis] = 0; index[axis] < x.shape[axis]; ++index[axis])
        line.push_back(at(x, index));
      const std::vector<std::size_t> order = sorted(line, descending(r.op.attributes));
      for (index[axis] = 0; index[axis] < indices.shape[axis]; ++index[axis]) {
        const std::size_t from = order[static_cast<std::size_t>(index[axis])];
        at(indices, index) = static_cast<double>(from);
        if (r.results.size() > 1) at(*r.results[0], index) = line[from];
      }
    });
  };
}

void order_gradient(GradientContext& c) {
  const Value x = c.operand(0);
  const std::size_t axis = axis_of(c.op().attributes, x.rank());
  c.accumulate(0, scatter_add_along_axis(
                      c.result(1), c.gradient(0),
                      {.size = {x.shape()[axis]}, .axis = static_cast<std::int64_t>(axis)}));
}

std::vector<Sample> order_samples(const Attributes& attributes) {
  std::vector<Sample> samples;
  const auto add = [&](std::vector<std::int64_t> shape, std::int64_t axis,
                       DType dtype = DType::f32) {
    Sample s;
    s.operands = {type_of(std::move(shape), dtype)};
    s.attributes = attributes;
    s.attributes.push_back({"axis", axis});
    if (is_integer(dtype)) s.low = 0, s.high = 5;  // many equal elements
    samples.push_back(s);
  };
  add({5, 37}, -1);
  add({37, 5}, 0);
  add({3, 4, 5}, 1);
  add({3}, 0);
  add({0, 3}, 1);
  add({3, 41}, 1, DType::i64);
  add({41}, 0, DType::i32);
  add({7, 3}, 0, DType::u8);
  Sample ties;
  ties.operands = {type_of({3, 20})};
  ties.attributes = attributes;
  ties.attributes.push_back({"axis", std::int64_t{1}});
  ties.low = ties.high = 0.5;
  ties.check_gradient = false;  // the order of equal elements changes when one moves
  samples.push_back(ties);
  return samples;
}

}  // namespace trireme::ops
