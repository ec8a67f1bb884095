#include "ops/common.h"

#include <bit>

#include "base/half.h"

namespace trireme::ops {
namespace {

std::vector<Type> bitcast_type(const TypeContext& context) {
  Type type = context.operands[0];
  const DType to = get_attribute<DType>(context.attributes, "dtype");
  require(type.dtype != DType::boolean && to != DType::boolean, "booleans have no bits to keep",
          "convert them with cast()");
  require(size_of(type.dtype) == size_of(to), [&] {
    return std::string(name_of(to)) + " and " + type.str() + " have elements of different sizes";
  });
  type.dtype = to;
  return {type};
}

// Of f32 and i32 alone, which the samples have.
void bitcast_reference(const Reference& r) {
  const DType to = r.op.result()->type.dtype;
  for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
    const double x = r.operands[0]->data[i];
    r.results[0]->data[i] =
        to == DType::i32 ? static_cast<double>(std::bit_cast<std::int32_t>(static_cast<float>(x)))
                         : static_cast<double>(std::bit_cast<float>(static_cast<std::int32_t>(x)));
  }
}

}  // namespace

Op bitcast() {
  Op op("bitcast(x; dtype: dtype)");
  op.doc =
      "The bits of each element as an element of another dtype of the same size, as\n"
      "numpy.ndarray.view. Neither dtype is boolean.";
  op.traits = Trait::elementwise | Trait::cheap | Trait::not_differentiable;
  op.type = bitcast_type;
  op.lower = [](Lowering& l) {
    return l.k().bitcast(l.load(0, l.index()), l.op().result()->type.dtype);
  };
  op.reference = bitcast_reference;
  op.torch_reference =
      "x[0].float().view(torch.int32) if x[0].is_floating_point() else "
      "x[0].view(torch.float32).double()";
  for (const auto& [from, to, high] :
       {std::tuple{DType::f32, DType::i32, 2.0}, std::tuple{DType::i32, DType::f32, 1e9}}) {
    for (Sample sample : elementwise_samples(1, -high, high, from)) {
      sample.attributes = {{"dtype", to}};
      op.samples.push_back(sample);
    }
  }
  return op;
}

}  // namespace trireme::ops
