#include "ops/flops.h"
#include "ops/order.h"

namespace trireme::ops {
namespace {

void cummax_reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  const std::size_t axis = axis_of(r.op.attributes, static_cast<int>(x.shape.size()));
  for_each_index(x.shape, [&](const Index& index) {
    Index best = index, other = index;
    for (other[axis] = 0, best[axis] = 0; other[axis] <= index[axis]; ++other[axis]) {
      const double a = at(x, other), largest = at(x, best);
      if (std::isnan(a) || (!std::isnan(largest) && a >= largest)) best = other;
    }
    at(*r.results[0], index) = at(x, best);
    at(*r.results[1], index) = static_cast<double>(best[axis]);
  });
}

}  // namespace

Op cummax() {
  Op op("cummax(x; axis: int = -1) -> values, indices");
  op.doc =
      "The cumulative maximum along `axis`, and the i64 indices of the maxima.\n"
      "Each element becomes the largest of the elements up to it.\n"
      "Of equal elements, the last one counts; NaN counts as larger than every number.\n"
      "x has a numeric dtype; the gradient goes to the elements that `indices` names.";
  op.traits = bits(Trait::library);
  op.flops = flop_per_element_of(0);
  op.type = [](const TypeContext& c) { return ordered_type(c); };
  op.row_wise = along_other_axes;
  op.mixed_axes = axes_of_attributes;
  op.library_kernel = "cummax";
  op.reference = cummax_reference;
  op.gradient = order_gradient;
  op.torch_reference = "torch.cummax(x[0], dim=axis)";
  op.samples = order_samples({});
  return op;
}

}  // namespace trireme::ops
