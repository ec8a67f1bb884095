#include "ops/reductions.h"

namespace trireme::ops {
namespace {

std::vector<Type> type(const TypeContext& c) {
  const auto& axes = ir::get<std::vector<std::int64_t>>(c.attributes, "axes");
  require(axes.size() == 1, "argmax looks along one axis, not " + std::to_string(axes.size()),
          "reshape x so that the elements to compare are one axis");
  std::vector<Type> types = reduced_type(Numbers::numeric)(c);
  types[0].dtype = DType::i64;
  return types;
}

void reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  const auto axis = static_cast<std::size_t>(
      checked_axis(ir::get<std::vector<std::int64_t>>(r.op.attributes, "axes")[0],
                   static_cast<int>(x.shape.size())));
  Index kept_shape = x.shape;
  kept_shape[axis] = 1;
  std::size_t i = 0;
  for_each_index(kept_shape, [&](const Index& kept) {
    Index index = kept;
    double best = -INFINITY;
    std::int64_t winner = 0;
    for (index[axis] = 0; index[axis] < x.shape[axis]; ++index[axis]) {
      const double value = at(x, index);
      if (std::isnan(best) || (value <= best && !std::isnan(value))) continue;
      best = value;
      winner = index[axis];
    }
    r.results[0]->data[i++] = static_cast<double>(winner);
  });
}

}  // namespace

Op argmax() {
  Op op("argmax(x; axes: ints = [-1], keep: bool = false)");
  op.doc =
      "The i64 position of the largest element along the single axis in `axes`. The first of equal "
      "ones wins, and NaN beats every number. With `keep` the axis stays, with size 1.";
  op.traits = Trait::reduction | Trait::not_differentiable;
  op.type = type;
  op.reduce = kernel_ir::ReduceOp::argmax;
  op.reduce_gives_index = true;
  op.reference = reference;
  op.twin = "torch.argmax(x[0], dim=axes[0], keepdim=keep)";
  const auto sample = [](std::vector<std::int64_t> shape, std::int64_t axis, bool keep) {
    Sample s;
    s.operands = {type_of(std::move(shape))};
    s.attributes = {{"axes", std::vector<std::int64_t>{axis}}, {"keep", keep}};
    s.check_gradient = false;  // an index has none
    return s;
  };
  op.samples = {sample({5, 37}, -1, false), sample({37, 5}, 0, false), sample({3, 4, 5}, 1, true),
                sample({1}, 0, false), sample({0, 3}, 1, false)};
  return op;
}

}  // namespace trireme::ops
