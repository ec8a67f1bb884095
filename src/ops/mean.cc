#include "ops/reductions.h"

namespace trireme::ops {

Op mean() {
  Op op("mean(x; axes: ints = [], keep: bool = false)");
  op.doc =
      "The mean of all elements along `axes`, or of all elements if the list is empty. Axes may "
      "count from the end. With `keep` the axes stay, with size 1. The mean of nothing is NaN.";
  op.traits = bits(Trait::reduction);
  op.type = reduced_type(Numbers::floats);
  op.row_wise = along_other_axes;
  op.reduce = kernel_ir::ReduceOp::sum;
  op.finish = [](Builder& k, ExprId total, ExprId count) { return k.div(total, count); };
  op.reference = reduction_reference(
      0, [](double total, double x) { return total + x; },
      [](double total, double count) { return total / count; });
  op.gradient = [](GradientContext& c) { c.give(0, spread(c, c.gradient() / summands(c))); };
  op.twin =
      "torch.mean(x[0], dim=axes or list(range(x[0].dim())), keepdim=keep) "
      "if x[0].dim() else x[0]";
  op.samples = reduction_samples(false);
  return op;
}

}  // namespace trireme::ops
