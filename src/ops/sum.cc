#include "ops/reductions.h"

namespace trireme::ops {

Op sum() {
  Op op("sum(x; axes: ints = [], keep: bool = false)");
  op.doc =
      "The sum of the elements along `axes`; 0 if there are no elements.\n"
      "x has a numeric dtype.\n"
      "An empty list means all axes, and negative axes count from the end.\n"
      "With `keep` the axes remain, with size 1.";
  op.traits = bits(Trait::reduction);
  op.type = reduced_type(Numbers::numeric);
  op.row_wise = along_other_axes;
  op.row_additive = [](const ir::Op& o, const std::vector<bool>& rows) {
    return rows[0] && !along_other_axes(o, rows);
  };
  op.reduce = kernel_ir::ReduceOp::sum;
  op.reference = reduction_reference(0, [](double total, double x) { return total + x; });
  op.gradient = [](GradientContext& c) { c.accumulate(0, spread(c, c.gradient())); };
  op.torch_reference =
      "torch.sum(x[0], dim=axes or list(range(x[0].dim())), keepdim=keep) "
      "if x[0].dim() else x[0]";
  op.samples = reduction_samples(true);
  Sample integers;
  integers.operands = {type_of({4, 9}, DType::i64)};
  integers.attributes = {{"axes", std::vector<std::int64_t>{1}}, {"keep", false}};
  integers.low = -50, integers.high = 50;
  integers.check_gradient = false;  // integers have no gradient
  op.samples.push_back(integers);
  return op;
}

}  // namespace trireme::ops
