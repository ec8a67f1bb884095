#include "ops/flops.h"
#include "ops/order.h"

namespace trireme::ops {
namespace {

std::vector<Type> top_k_type(const TypeContext& c) {
  const Type& x = c.operands[0];
  const std::int64_t k = get_attribute<std::int64_t>(c.attributes, "k");
  const Dim count = k;
  const std::vector<Type> types = ordered_type(c, &count);
  const std::size_t axis = axis_of(c.attributes, x.rank());
  const Dim& size = x.shape[axis];
  require(k >= 0 && never_negative(size - count),
          "there may be fewer than " + std::to_string(k) + " elements along axis " +
              std::to_string(axis) + " of " + c.operand_texts[0],
          "k must not exceed the size of the axis, which must be constant unless k is 0");
  return types;
}

std::vector<Sample> top_k_samples() {
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
      "The k largest elements along `axis`, largest first, and their i64 indices.\n"
      "Without `largest`, the k smallest elements, smallest first.\n"
      "Of equal elements the earlier one comes first; NaN counts as larger than every number.\n"
      "x has a numeric dtype, and k must not exceed the size of the axis.\n"
      "The gradient goes to the original positions of the values.";
  op.traits = bits(Trait::library);
  op.flops = no_flops();
  op.type = top_k_type;
  op.row_wise = along_other_axes;
  op.library_kernel = "sort";
  op.reference =
      order_reference([](const Attributes& a) { return get_attribute<bool>(a, "largest"); });
  op.gradient = order_gradient;
  // torch.topk does not define the order of equal elements.
  op.torch_reference =
      "[y.narrow(axis, 0, k) for y in torch.sort(x[0], dim=axis, descending=largest, stable=True)]";
  op.samples = top_k_samples();
  return op;
}

}  // namespace trireme::ops
