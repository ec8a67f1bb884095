#include "base/error.h"
#include "ops/flops.h"
#include "ops/index.h"

namespace trireme::ops {
namespace {

std::vector<Type> scatter_add_nd_type(const TypeContext& c) {
  const Type& indices = c.operands[0];
  const Type& updates = c.operands[1];
  const Shape& shape = get_attribute<Shape>(c.attributes, "shape");
  require(is_index(indices.dtype),
          "scatter_add_nd needs integer indices, not " + c.operand_texts[0], "cast them to i64");
  require(is(updates.dtype, Numbers::common),
          "scatter_add_nd needs numeric updates, not " + c.operand_texts[1]);
  require(indices.rank() > 0 && indices.shape.back().is_constant() &&
              indices.shape.back().constant() <= static_cast<std::int64_t>(shape.size()),
          "scatter_add_nd: the last axis of the indices must hold one index for each of the first "
          "axes of " +
              str(shape) + ", but they are " + c.operand_texts[0]);
  for (const Dim& size : shape) require(never_negative(size), "a size is negative: " + str(shape));
  Shape expected(indices.shape.begin(), indices.shape.end() - 1);
  const auto named = static_cast<std::ptrdiff_t>(indices.shape.back().constant());
  expected.insert(expected.end(), shape.begin() + named, shape.end());
  require(updates.shape == expected, "scatter_add_nd: the updates are " + c.operand_texts[1] +
                                         ", but the indices need " + str(expected));
  return {Type{updates.dtype, shape, ""}};
}

void scatter_add_nd_reference(const Reference& r) {
  const RefTensor& indices = *r.operands[0];
  RefTensor& y = *r.results[0];
  const auto front = static_cast<std::ptrdiff_t>(indices.shape.size()) - 1;
  for_each_index(r.operands[1]->shape, [&](const Index& index) {
    Index place(index.begin(), index.begin() + front);
    place.push_back(0);
    Index target;
    for (; place.back() < indices.shape.back(); ++place.back()) {
      const double i = at(indices, place);
      if (i < 0 || i >= static_cast<double>(y.shape[target.size()])) {
        fail_data("scatter_add_nd: an index is outside its axis");
      }
      target.push_back(static_cast<std::int64_t>(i));
    }
    target.insert(target.end(), index.begin() + front, index.end());
    at(y, target) += at(*r.operands[1], index);
  });
}

Sample scatter_add_nd_sample(const std::vector<std::int64_t>& indices,
                             const std::vector<std::int64_t>& shape, double high,
                             DType dtype = DType::i64) {
  Sample s;
  std::vector<std::int64_t> updates(indices.begin(), indices.end() - 1);
  updates.insert(updates.end(), shape.begin() + indices.back(), shape.end());
  s.operands = {type_of(indices, dtype), type_of(updates)};
  s.attributes = {{"shape", Shape(shape.begin(), shape.end())}};
  s.ranges = {{0, high}, {-2, 2}};
  return s;
}

}  // namespace

Op scatter_add_nd() {
  Op op("scatter_add_nd(indices, updates; shape: shape)");
  op.doc =
      "A tensor of zeros with `shape`, to which updates are added by tuples of integer "
      "indices, in order.\n"
      "The last axis of `indices` has a constant size n and holds one index for each of the "
      "first n axes.\n"
      "The updates have the other axes of `indices`, followed by the other axes of `shape`.\n"
      "An index outside its axis is Error(data) at run time.";
  op.traits = bits(Trait::library);
  op.flops = flop_per_element_of(1);
  op.type = scatter_add_nd_type;
  op.library_kernel = "scatter_add_nd";
  op.reference = scatter_add_nd_reference;
  op.gradient = [](GradientContext& c) {
    if (c.needs_gradient(1)) c.accumulate(1, gather_nd(c.gradient(), c.operand(0)));
  };
  op.torch_reference =
      "(lambda y: y.index_put(tuple(x[0].long().unbind(-1)), x[1], accumulate=True) "
      "if x[0].shape[-1] else y + x[1].reshape([-1] + list(y.shape)).sum(0))"
      "(torch.zeros([int(n) for n in shape], dtype=x[1].dtype))";
  op.samples = {scatter_add_nd_sample({9, 2}, {5, 7, 3}, 5),
                scatter_add_nd_sample({2, 3, 1}, {5, 7}, 5),
                scatter_add_nd_sample({6, 3}, {4, 3, 5}, 3),
                scatter_add_nd_sample({2}, {6, 5}, 5),
                scatter_add_nd_sample({2, 0}, {3, 4}, 1),
                scatter_add_nd_sample({0, 2}, {3, 4}, 3),
                scatter_add_nd_sample({4, 2}, {7, 2}, 2, DType::i32),
                scatter_add_nd_sample({4, 2}, {7, 2}, 2, DType::u8)};
  return op;
}

}  // namespace trireme::ops
