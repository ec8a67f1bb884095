#include "base/error.h"
#include "ops/flops.h"
#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> scatter_add_along_axis_type(const TypeContext& c) {
  const Type& indices = c.operands[0];
  const Type& updates = c.operands[1];
  const Shape& size = get_attribute<Shape>(c.attributes, "size");
  require(is_index(indices.dtype),
          "scatter_add_along_axis needs integer indices, not " + c.operand_texts[0],
          "cast them to i64");
  require(is(updates.dtype, Numbers::common),
          "scatter_add_along_axis needs numeric updates, not " + c.operand_texts[1]);
  require(size.size() == 1 && never_negative(size[0]),
          "scatter_add_along_axis: `size` must be one size, not " + str(size));
  require(indices.shape == updates.shape,
          "scatter_add_along_axis: indices and updates must have one shape: " + c.operand_texts[0] +
              " and " + c.operand_texts[1]);
  Type result = updates;
  const std::size_t axis = axis_of(c.attributes, updates.rank());
  result.shape[axis] = size[0];
  return {result};
}

void scatter_add_along_axis_reference(const Reference& r) {
  const RefTensor& indices = *r.operands[0];
  RefTensor& y = *r.results[0];
  const std::size_t axis = axis_of(r.op.attributes, static_cast<int>(indices.shape.size()));
  for_each_index(indices.shape, [&](const Index& index) {
    const double place = at(indices, index);
    if (place < 0 || place >= static_cast<double>(y.shape[axis])) {
      fail_data("scatter_add_along_axis: an index is outside [0, size)");
    }
    Index target = index;
    target[axis] = static_cast<std::int64_t>(place);
    at(y, target) += at(*r.operands[1], index);
  });
}

Sample scatter_add_along_axis_sample(std::vector<std::int64_t> shape, std::int64_t axis,
                                     std::int64_t size, DType dtype = DType::i64) {
  Sample s;
  s.operands = {type_of(shape, dtype), type_of(shape)};
  s.attributes = {{"axis", axis}, {"size", Shape{size}}};
  s.ranges = {{0, static_cast<double>(size)}, {-2, 2}};
  return s;
}

}  // namespace

Op scatter_add_along_axis() {
  Op op("scatter_add_along_axis(indices, updates; size: shape, axis: int = -1)");
  op.doc =
      "A tensor of zeros with size `size` along `axis`, to which updates are added by index.\n"
      "result[.., indices[.., i, ..], ..] += updates[.., i, ..], in order.\n"
      "Indices are integers, updates have a numeric dtype, and both have one shape.\n"
      "An index outside [0, size) is Error(data) at run time.";
  op.traits = bits(Trait::library);
  op.flops = flop_per_element_of(1);
  op.type = scatter_add_along_axis_type;
  op.library_kernel = "scatter_add_along_axis";
  op.reference = scatter_add_along_axis_reference;
  op.gradient = [](GradientContext& c) {
    if (!c.needs_gradient(1)) return;
    const std::int64_t axis = get_attribute<std::int64_t>(c.op().attributes, "axis");
    c.accumulate(1, take_along_axis(c.gradient(), c.operand(0), {.axis = axis}));
  };
  op.torch_reference =
      "torch.zeros([int(size[0]) if i == axis % x[1].dim() else n for i, n in "
      "enumerate(x[1].shape)], dtype=x[1].dtype).scatter_add(axis, x[0].long(), x[1])";
  op.samples = {scatter_add_along_axis_sample({5, 37}, -1, 9),
                scatter_add_along_axis_sample({5, 7}, 0, 11),
                scatter_add_along_axis_sample({3, 4, 5}, 1, 2),
                scatter_add_along_axis_sample({6}, 0, 1),
                scatter_add_along_axis_sample({3, 0}, 1, 4),
                scatter_add_along_axis_sample({0, 3}, 0, 4),
                scatter_add_along_axis_sample({0, 3}, 1, 4),
                scatter_add_along_axis_sample({2, 9}, 1, 5, DType::i32),
                scatter_add_along_axis_sample({2, 9}, 1, 5, DType::u8)};
  return op;
}

}  // namespace trireme::ops
