#include "ops/common.h"

namespace trireme::ops {
namespace {

std::vector<Type> iota_type(const TypeContext& context) {
  std::vector<Type> types = type_of_attributes(Numbers::numeric)(context);
  axis_of(context.attributes, types[0].rank());
  return types;
}

void iota_reference(const Reference& r) {
  RefTensor& result = *r.results[0];
  const std::size_t axis = axis_of(r.op.attributes, r.op.result()->type.rank());
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < result.shape.size(); ++i) inner *= result.shape[i];
  for (std::size_t i = 0; i < result.data.size(); ++i) {
    const auto position = static_cast<std::int64_t>(i) / inner % result.shape[axis];
    result.data[i] = static_cast<double>(position);
  }
}

std::vector<Sample> iota_samples() {
  std::vector<Sample> samples;
  const auto add = [&](Shape shape, std::int64_t axis, DType dtype) {
    Sample sample;
    sample.attributes = {{"axis", axis}, {"dtype", dtype}, {"shape", std::move(shape)}};
    samples.push_back(sample);
  };
  add({11}, 0, DType::f32);
  add({3, 5, 7}, 1, DType::i64);
  add({3, 5, 7}, -1, DType::f64);
  add({0, 3}, 1, DType::i32);
  return samples;
}

}  // namespace

Op iota() {
  Op op("iota(; shape: shape, axis: int = 0, dtype: dtype = i64)");
  op.doc =
      "Each element is its own index along `axis`: 0, 1, 2 ...\n"
      "`dtype` is numeric.";
  op.traits = Trait::generator | Trait::cheap | Trait::counts;
  op.type = iota_type;
  op.row_wise = [](const ir::Op& o, const std::vector<bool>&) {
    return axis_of(o.attributes, o.result()->type.rank()) > 0;
  };
  op.lower = [](Lowering& l) {
    const ExprId index = l.index()[axis_of(l.op().attributes, l.op().result()->type.rank())];
    return l.k().cast(index, l.op().result()->type.dtype);
  };
  op.reference = iota_reference;
  op.torch_reference =
      "torch.arange(shape[axis], dtype=dtype)"
      ".reshape([-1 if i == axis % len(shape) else 1 for i in range(len(shape))]).expand(shape)";
  op.samples = iota_samples();
  return op;
}

}  // namespace trireme::ops
