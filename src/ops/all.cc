#include "ops/reductions.h"

namespace trireme::ops {

Op all() {
  Op op("all(x; axes: ints = [], keep: bool = false)");
  op.doc =
      "Whether all elements along `axes` are true; true if there are no elements.\n"
      "x is boolean.\n"
      "An empty list means all axes, and negative axes count from the end.\n"
      "With `keep` the axes remain, with size 1.";
  op.traits = Trait::reduction | Trait::not_differentiable;
  op.type = reduced_type(Numbers::booleans);
  op.row_wise = along_other_axes;
  op.reduce = kernel_ir::ReduceOp::min;
  op.reference =
      reduction_reference(1, [](double total, double x) { return total != 0 && x != 0; });
  op.torch_reference =
      "(torch.sum(~x[0], dim=axes or list(range(x[0].dim())), keepdim=keep) == 0) "
      "if x[0].dim() else x[0]";
  op.samples = reduction_samples(true, DType::boolean);
  for (Sample& sample : op.samples) sample.low = 0, sample.high = 2;
  for (Sample sample : reduction_samples(true, DType::boolean)) {
    sample.low = sample.high = 1;
    op.samples.push_back(sample);
  }
  return op;
}

}  // namespace trireme::ops
