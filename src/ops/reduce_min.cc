#include <algorithm>

#include "ops/reductions.h"

namespace trireme::ops {

Op reduce_min() {
  Op op("reduce_min(x; axes: ints = [], keep: bool = false)");
  op.doc =
      "The smallest element along `axes`; NaN if any of these elements is NaN.\n"
      "x has a numeric dtype.\n"
      "An empty list means all axes, and negative axes count from the end.\n"
      "With `keep` the axes remain, with size 1.\n"
      "Elements equal to the result share the gradient equally.";
  op.traits = bits(Trait::reduction);
  op.type = reduced_type(Numbers::numeric);
  op.row_wise = along_other_axes;
  op.reduce = kernel_ir::ReduceOp::min;
  op.reference = reduction_reference(INFINITY, [](double total, double x) {
    return std::isnan(total) || std::isnan(x) ? NAN : std::min(total, x);
  });
  op.gradient = extremum_gradient;
  op.torch_reference = "torch.amin(x[0], dim=axes, keepdim=keep) if x[0].dim() else x[0]";
  op.samples = reduction_samples(false);
  return op;
}

}  // namespace trireme::ops
