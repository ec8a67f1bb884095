#include "ops/common.h"

namespace trireme::ops {
namespace {

std::vector<Type> cast_type(const TypeContext& context) {
  Type type = context.operands[0];
  type.dtype = get_attribute<DType>(context.attributes, "dtype");
  return {type};
}

void cast_reference(const Reference& r) {
  const DType to = r.op.result()->type.dtype;
  for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
    r.results[0]->data[i] = to_dtype(r.operands[0]->data[i], to);
  }
}

std::vector<Sample> to(DType dtype, std::vector<Sample> samples) {
  for (Sample& sample : samples) sample.attributes = {{"dtype", dtype}};
  return samples;
}

}  // namespace

Op cast() {
  Op op("cast(x; dtype: dtype)");
  op.doc =
      "Converts each element to another dtype.\n"
      "A float becomes an integer by dropping the fraction.\n"
      "NaN becomes 0, and a float out of range becomes the nearest integer in range.\n"
      "Integers that are out of range wrap.\n"
      "A boolean is true if the element is not 0.\n"
      "bf16 and f16 are rounded from f32 to nearest, ties to even; too large values become "
      "infinity.\n"
      "The gradient passes between f32 and f64 only.";
  op.traits = Trait::elementwise | Trait::cheap;
  op.type = cast_type;
  op.lower = [](Lowering& l) {
    return l.k().cast(l.load(0, l.index()), l.op().result()->type.dtype);
  };
  op.reference = cast_reference;
  op.gradient = [](GradientContext& c) {
    const DType from = c.operand(0).dtype();
    if (is_arithmetic_float(from) && is_arithmetic_float(c.result().dtype()))
      c.accumulate(0, cast(c.gradient(), {.dtype = from}));
  };
  op.torch_reference = "x[0].to(dtype)";
  op.samples = joined({to(DType::f64, elementwise_samples(1)),
                       to(DType::f32, elementwise_samples(1, -2, 2, DType::f64)),
                       to(DType::f32, elementwise_samples(1, -99, 99, DType::i64)),
                       to(DType::f32, elementwise_samples(1, 0, 255, DType::u8)),
                       to(DType::f32, elementwise_samples(1, 0, 2, DType::boolean)),
                       to(DType::i64, elementwise_samples(1, 0, 2, DType::boolean)),
                       to(DType::i64, elementwise_samples(1, -9, 9)),
                       to(DType::i32, elementwise_samples(1, -9, 9)),
                       to(DType::u8, elementwise_samples(1, 0, 255)),
                       to(DType::boolean, elementwise_samples(1, 0, 1)),
                       to(DType::bf16, elementwise_samples(1)),
                       to(DType::bf16, elementwise_samples(1, -3.4e38, 3.4e38)),
                       to(DType::bf16, elementwise_samples(1, -99999, 99999, DType::i32)),
                       to(DType::f16, elementwise_samples(1, -70000, 70000)),
                       to(DType::f16, elementwise_samples(1, -1e-6, 1e-6)),
                       to(DType::f32, elementwise_samples(1, -2, 2, DType::bf16)),
                       to(DType::f32, elementwise_samples(1, -1e-6, 1e-6, DType::f16)),
                       to(DType::f64, elementwise_samples(1, -9, 9, DType::f16)),
                       to(DType::i32, elementwise_samples(1, -9, 9, DType::bf16)),
                       to(DType::f16, elementwise_samples(1, -2, 2, DType::bf16)),
                       to(DType::boolean, elementwise_samples(1, 0, 1, DType::bf16))});
  return op;
}

}  // namespace trireme::ops
