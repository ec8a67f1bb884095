#include "ops/flops.h"
#include "ops/order.h"

namespace trireme::ops {

Op sort() {
  Op op("sort(x; axis: int = -1, descending: bool = false) -> values, indices");
  op.doc =
      "The elements along `axis` in ascending order, and their original i64 indices.\n"
      "With `descending`, the order is descending.\n"
      "Equal elements keep their order; NaN counts as larger than every number.\n"
      "x has a numeric dtype; the gradient goes to the original positions of the values.";
  op.traits = bits(Trait::library);
  op.flops = no_flops();
  op.type = [](const TypeContext& c) { return ordered_type(c); };
  op.row_wise = along_other_axes;
  op.library_kernel = "sort";
  op.reference =
      order_reference([](const Attributes& a) { return get_attribute<bool>(a, "descending"); });
  op.gradient = order_gradient;
  op.torch_reference = "torch.sort(x[0], dim=axis, descending=descending, stable=True)";
  op.samples =
      joined({order_samples({{"descending", false}}), order_samples({{"descending", true}})});
  return op;
}

}  // namespace trireme::ops
