#include <algorithm>

#include "ops/reductions.h"

namespace trireme::ops {

Op reduce_max() {
  Op op("reduce_max(x; axes: ints = [], keep: bool = false)");
  op.doc =
      "The largest element along `axes`, or of all elements if the list is empty. Axes may count "
      "from "
      "the end. With `keep` the axes stay, with size 1. NaN if any element is NaN. The gradient is "
      "shared equally by all elements that are the largest.";
  op.traits = bits(Trait::reduction);
  op.type = reduced_type(Numbers::numeric);
  op.row_wise = along_other_axes;
  op.reduce = kernel_ir::ReduceOp::max;
  op.reference = reduction_reference(-INFINITY, [](double total, double x) {
    return std::isnan(total) || std::isnan(x) ? NAN : std::max(total, x);
  });
  op.gradient = extremum_gradient;
  op.twin = "torch.amax(x[0], dim=axes, keepdim=keep) if x[0].dim() else x[0]";
  op.samples = reduction_samples(false);
  return op;
}

}  // namespace trireme::ops
