#include "ops/reductions.h"

namespace trireme::ops {

Op mean() {
  Op op("mean(x; axes: ints = [], keep: bool = false)");
  op.doc =
      "The mean of the elements along `axes`; NaN if there are no elements.\n"
      "x is f32 or f64.\n"
      "An empty list means all axes, and negative axes count from the end.\n"
      "With `keep` the axes remain, with size 1.";
  op.traits = bits(Trait::reduction);
  op.type = reduced_type(Numbers::floats);
  op.row_wise = along_other_axes;
  op.reduce = kernel_ir::ReduceOp::sum;
  op.finish = [](Builder& k, ExprId total, ExprId count) { return k.div(total, count); };
  op.reference = reduction_reference(
      0, [](double total, double x) { return total + x; },
      [](double total, double count) { return total / count; });
  op.gradient = [](GradientContext& c) { c.accumulate(0, spread(c, c.gradient() / summands(c))); };
  op.torch_reference =
      "torch.mean(x[0], dim=axes or list(range(x[0].dim())), keepdim=keep) "
      "if x[0].dim() else x[0]";
  op.samples = reduction_samples(false);
  return op;
}

}  // namespace trireme::ops
