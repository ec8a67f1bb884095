#include <algorithm>

#include "ops/common.h"

namespace trireme::ops {
namespace {

std::vector<Sample> constant_samples() {
  std::vector<Sample> samples;
  const auto add = [&](double value, DType dtype, Shape shape) {
    Sample sample;
    sample.attributes = {{"dtype", dtype}, {"shape", std::move(shape)}, {"value", value}};
    samples.push_back(sample);
  };
  add(0.5, DType::f32, {3, 5});
  add(-1e-20, DType::f64, {});
  add(7, DType::i64, {2, 1, 3});
  add(200, DType::u8, {9});
  add(1, DType::boolean, {0, 3});
  add(0.1, DType::bf16, {5});
  add(0.1, DType::f16, {2, 3});
  return samples;
}

}  // namespace

Op constant() {
  Op op("constant(; value: float, dtype: dtype = f32, shape: shape = [])");
  op.doc = "A value whose elements all equal `value`.";
  op.traits = Trait::generator | Trait::cheap | Trait::constant;
  op.type = type_of_attributes();
  op.lower = [](Lowering& l) {
    const DType dtype = l.op().result()->type.dtype;
    const double value = get_attribute<double>(l.op().attributes, "value");
    if (dtype == DType::boolean) return l.k().boolean(value != 0);
    if (is_float(dtype)) return l.k().constant(dtype, value);
    return l.k().integer(static_cast<std::int64_t>(value), dtype);
  };
  op.reference = [](const Reference& r) {
    const double value = get_attribute<double>(r.op.attributes, "value");
    std::fill(r.results[0]->data.begin(), r.results[0]->data.end(),
              to_dtype(value, r.op.result()->type.dtype));
  };
  op.torch_reference = "torch.full(shape, value, dtype=dtype)";
  op.samples = constant_samples();
  return op;
}

}  // namespace trireme::ops
