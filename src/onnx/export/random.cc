// Random numbers: other engines draw other ones from the same distributions.

#include "onnx/export/attributes.h"
#include "onnx/export/exporter.h"
#include "onnx/tensor.h"

namespace trireme::onnx {
namespace {

void write_random_like(Exporter& e, const ir::Op& op, const char* type, NodeAttributes attributes) {
  const ir::Type& result = op.result()->type;
  attributes.emplace_back("dtype", static_cast<std::int64_t>(element_type_of(result.dtype)));
  e.set(op, e.node(type, {e.expand(e.scalar(0, result.dtype), result.shape)}, attributes));
}

float as_float(const ir::Op& op, const char* name) {
  return static_cast<float>(number_of(op, name));
}

void write_random_normal(Exporter& e, const ir::Op& op) {
  write_random_like(e, op, "RandomNormalLike",
                    {{"mean", as_float(op, "mean")}, {"scale", as_float(op, "stddev")}});
}

void write_random_uniform(Exporter& e, const ir::Op& op) {
  write_random_like(e, op, "RandomUniformLike",
                    {{"low", as_float(op, "low")}, {"high", as_float(op, "high")}});
}

void write_random_bernoulli(Exporter& e, const ir::Op& op) {
  const ir::Type& result = op.result()->type;
  const std::string probability = e.scalar(number_of(op, "probability"), DType::f64);
  const std::string drawn = e.node("Bernoulli", {e.expand(probability, result.shape)},
                                   {{"dtype", static_cast<std::int64_t>(ElementType::f64)}});
  e.set(op, e.cast(drawn, result.dtype));
}

constexpr ExportedOp kRandom[] = {
    {"random_bernoulli", write_random_bernoulli},
    {"random_normal", write_random_normal},
    {"random_uniform", write_random_uniform},
};

}  // namespace

std::span<const ExportedOp> exported_random() { return kRandom; }

}  // namespace trireme::onnx
