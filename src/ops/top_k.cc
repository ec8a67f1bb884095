#include "ops/order.h"

namespace trireme::ops {
namespace {

std::vector<Type> type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const std::int64_t k = ir::get<std::int64_t>(c.attributes, "k");
  const Dim count = k;
  const std::vector<Type> types = ordered_type(c, &count);
  const std::size_t axis = axis_of(c.attributes, x.rank());
  const Dim& size = x.shape[axis];
  require(k >= 0 && never_negative(size - count),
          "there are not always " + std::to_string(k) + " elements along axis " +
              std::to_string(axis) + " of " + c.operand_texts[0],
          "k is at most the size of an axis of constant size");
  return types;
}

std::vector<Sample> samples() {
  std::vector<Sample> samples;
  for (const bool largest : {true, false}) {
    for (const std::int64_t k : {0, 1, 3}) {
      for (Sample& s : order_samples({{"k", k}, {"largest", largest}})) samples.push_back(s);
    }
  }
  return samples;
}

}  // namespace

Op top_k() {
  Op op("top_k(x; k: int, axis: int = -1, largest: bool = true) -> values, indices");
  op.doc =
      "The k largest elements along `axis`, the largest first, or the k smallest, the smallest "
      "first, and the i64 indices they have. Of equal elements the first comes first; NaN counts "
      "as "
      "larger than every number. The gradient goes back to where the values came from.";
  op.traits = bits(Trait::library);
  op.type = type;
  op.row_wise = along_other_axes;
  op.library_kernel = "sort";
  op.reference = order_reference([](const Attributes& a) { return ir::get<bool>(a, "largest"); });
  op.gradient = order_gradient;
  // torch.topk says nothing of the order of equal elements.
  op.twin =
      "[y.narrow(axis, 0, k) for y in torch.sort(x[0], dim=axis, descending=largest, stable=True)]";
  op.samples = samples();
  return op;
}

}  // namespace trireme::ops
