#include "ops/flops.h"
#include "ops/order.h"

namespace trireme::ops {

Op argsort() {
  Op op("argsort(x; axis: int = -1, descending: bool = false)");
  op.doc =
      "The i64 indices that sort the elements along `axis`; the second result of sort.\n"
      "Equal elements keep their order, and NaN counts as larger than every number.";
  op.traits = Trait::library | Trait::not_differentiable;
  op.flops = no_flops();
  op.type = [](const TypeContext& c) { return std::vector<Type>{ordered_type(c)[1]}; };
  op.row_wise = along_other_axes;
  op.library_kernel = "argsort";
  op.reference =
      order_reference([](const Attributes& a) { return get_attribute<bool>(a, "descending"); });
  op.torch_reference = "torch.sort(x[0], dim=axis, descending=descending, stable=True)[1]";
  op.samples =
      joined({order_samples({{"descending", false}}), order_samples({{"descending", true}})});
  return op;
}

}  // namespace trireme::ops
