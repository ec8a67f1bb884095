#include <algorithm>

#include "ops/reductions.h"

namespace trireme::ops {

Op reduce_max() {
  Op op("reduce_max(x; axes: ints = [], keep: bool = false)");
  op.doc =
      "The largest element along `axes`; NaN if any of these elements is NaN.\n"
      "x has a numeric dtype.\n"
      "An empty list means all axes, and negative axes count from the end.\n"
      "With `keep` the axes remain, with size 1.\n"
      "Elements equal to the result share the gradient equally.";
  op.traits = bits(Trait::reduction);
  op.type = reduced_type(Numbers::numeric);
  op.row_wise = along_other_axes;
  op.reduce = kernel_ir::ReduceOp::max;
  op.reference = reduction_reference(-INFINITY, [](double total, double x) {
    return std::isnan(total) || std::isnan(x) ? NAN : std::max(total, x);
  });
  op.gradient = extremum_gradient;
  op.torch_reference = "torch.amax(x[0], dim=axes, keepdim=keep) if x[0].dim() else x[0]";
  op.samples = reduction_samples(false);
  return op;
}

}  // namespace trireme::ops
