#include "ops/reductions.h"

namespace trireme::ops {

Op sum() {
  Op op("sum(x; axes: ints = [], keep: bool = false)");
  op.doc =
      "The sum of all elements along `axes`, or of all elements if the list is empty. Axes may "
      "count "
      "from the end. With `keep` the axes stay, with size 1. The sum of nothing is 0.";
  op.traits = bits(Trait::reduction);
  op.type = reduced_type(Numbers::numeric);
  op.row_wise = along_other_axes;
  op.row_additive = [](const ir::Op& made, const std::vector<bool>& rows) {
    return rows[0] && !along_other_axes(made, rows);
  };
  op.reduce = kernel_ir::ReduceOp::sum;
  op.reference = reduction_reference(0, [](double total, double x) { return total + x; });
  op.gradient = [](GradientContext& c) { c.give(0, spread(c, c.gradient())); };
  op.twin =
      "torch.sum(x[0], dim=axes or list(range(x[0].dim())), keepdim=keep) "
      "if x[0].dim() else x[0]";
  op.samples = reduction_samples(true);
  Sample integers;
  integers.operands = {type_of({4, 9}, DType::i64)};
  integers.attributes = {{"axes", std::vector<std::int64_t>{1}}, {"keep", false}};
  integers.low = -50, integers.high = 50;
  integers.check_gradient = false;  // integers have none
  op.samples.push_back(integers);
  return op;
}

}  // namespace trireme::ops
