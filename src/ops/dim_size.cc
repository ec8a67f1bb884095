#include "ops/common.h"

namespace trireme::ops {
namespace {

std::vector<int> axes_of(const Attributes& attributes, int rank) {
  return checked_axes(get_attribute<std::vector<std::int64_t>>(attributes, "axes"), rank);
}

std::vector<Type> dim_size_type(const TypeContext& context) {
  axes_of(context.attributes, context.operands[0].rank());
  const DType dtype = get_attribute<DType>(context.attributes, "dtype");
  require(is(dtype, Numbers::numeric), "dtype must be numeric");
  return {Type{dtype, {}, ""}};
}

ExprId lower_dim_size(Lowering& l) {
  const Type& x = l.op().operands[0]->type;
  Dim count = 1;
  for (int axis : axes_of(l.op().attributes, x.rank())) {
    count = count * x.shape[static_cast<std::size_t>(axis)];
  }
  return l.k().cast(l.dim(count), l.op().result()->type.dtype);
}

void dim_size_reference(const Reference& r) {
  const RefTensor& x = *r.operands[0];
  double count = 1;
  for (int axis : axes_of(r.op.attributes, static_cast<int>(x.shape.size()))) {
    count *= static_cast<double>(x.shape[static_cast<std::size_t>(axis)]);
  }
  r.results[0]->data[0] = count;
}

std::vector<Sample> dim_size_samples() {
  std::vector<Sample> samples;
  const auto add = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> axes, DType to) {
    Sample sample;
    sample.operands = {type_of(std::move(shape))};
    sample.attributes = {{"axes", std::move(axes)}, {"dtype", to}};
    samples.push_back(sample);
  };
  add({3, 5, 7}, {}, DType::f32);
  add({3, 5, 7}, {0, -1}, DType::i64);
  add({0, 5}, {0}, DType::f64);
  add({}, {}, DType::i32);
  return samples;
}

}  // namespace

Op dim_size() {
  Op op("dim_size(x; axes: ints = [], dtype: dtype = f32)");
  op.doc =
      "The number of elements along `axes` (along all axes if the list is empty), as a "
      "scalar.\n"
      "It makes a size that is known only at run time, such as the batch size, available as a "
      "value.";
  op.traits = Trait::generator | Trait::cheap | Trait::not_differentiable | Trait::shape_only;
  op.type = dim_size_type;
  op.lower = lower_dim_size;
  op.reference = dim_size_reference;
  op.torch_reference =
      "torch.tensor(math.prod(x[0].shape[a] for a in (axes or range(x[0].dim()))), dtype=dtype)";
  op.samples = dim_size_samples();
  return op;
}

}  // namespace trireme::ops
