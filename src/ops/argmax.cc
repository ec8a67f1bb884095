#include "ops/reductions.h"

namespace trireme::ops {

Op argmax() {
  Op op("argmax(x; axes: ints = [-1], keep: bool = false)");
  op.doc =
      "The i64 index of the largest element along the single axis in `axes`.\n"
      "Of equal elements the first one is selected; NaN counts as larger than every number.\n"
      "With `keep` the axis remains, with size 1.";
  op.traits = Trait::reduction | Trait::not_differentiable;
  op.type = position_type;
  op.row_wise = along_other_axes;
  op.reduce = kernel_ir::ReduceOp::argmax;
  op.reduce_gives_index = true;
  op.reference = position_reference([](double x, double best) { return x > best; });
  op.torch_reference = "torch.argmax(x[0], dim=axes[0], keepdim=keep)";
  op.samples = position_samples();
  return op;
}

}  // namespace trireme::ops
