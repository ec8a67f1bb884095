#include <fmt/core.h>

#include <cmath>

#include "ops/common.h"
#include "ops/philox.h"

namespace trireme::ops {
namespace {

ExprId lower_random_normal(Lowering& l) {
  Builder& k = l.k();
  const double mean = get_attribute<double>(l.op().attributes, "mean");
  const double stddev = get_attribute<double>(l.op().attributes, "stddev");
  const DType dtype = l.op().result()->type.dtype;
  const PhiloxExprs words =
      random_words(l, get_attribute<std::int64_t>(l.op().attributes, "stream"));
  const ExprId u = normal_number(k, words, dtype);
  return k.add(k.constant(dtype, mean), k.mul(k.constant(dtype, stddev), u));
}

void random_normal_reference(const Reference& r) {
  const double mean = get_attribute<double>(r.op.attributes, "mean");
  const double stddev = get_attribute<double>(r.op.attributes, "stddev");
  const DType dtype = r.op.result()->type.dtype;
  const auto stream =
      static_cast<std::uint64_t>(get_attribute<std::int64_t>(r.op.attributes, "stream"));
  for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
    const PhiloxWords words = random_words(r.run_seed, stream, i);
    r.results[0]->data[i] = mean + stddev * normal_number(words, dtype);
  }
}

std::vector<Sample> random_normal_samples() {
  std::vector<Sample> samples;
  const auto add = [&](Shape shape, DType dtype) {
    Sample sample;
    sample.attributes = {{"stddev", 0.5},
                         {"dtype", dtype},
                         {"mean", 3.0},
                         {"shape", std::move(shape)},
                         {"stream", std::int64_t{5}}};
    samples.push_back(sample);
  };
  add({3, 5, 7}, DType::f32);
  add({1001}, DType::f64);
  add({}, DType::f32);
  add({0, 3}, DType::f32);
  return samples;
}

}  // namespace

Op random_normal() {
  Op op(
      "random_normal(; shape: shape, stream: int = -1, mean: float = 0.0, stddev: float = 1.0, "
      "dtype: dtype = f32)");
  op.old_attributes = {{"deviation", "stddev"}};
  op.doc =
      "Random numbers from a normal distribution with mean `mean` and standard deviation "
      "`stddev`.\n"
      "They depend only on the seed, the stream and the position.\n"
      "Each run has another seed, and ops of the same stream return the same numbers.\n"
      "Without `stream`, each call has a stream of its own.\n"
      "`dtype` is f32 or f64.";
  op.traits = Trait::generator | Trait::random | Trait::not_differentiable;
  op.type = [](const TypeContext& context) {
    const double mean = get_attribute<double>(context.attributes, "mean");
    const double stddev = get_attribute<double>(context.attributes, "stddev");
    require(std::isfinite(mean) && std::isfinite(stddev) && stddev >= 0,
            fmt::format("mean and stddev must be finite and stddev must not be negative, but they "
                        "are {} and {}",
                        mean, stddev));
    return random_type(Numbers::floats)(context);
  };
  op.lower = lower_random_normal;
  op.reference = random_normal_reference;
  op.no_torch_reason =
      "the generator is Trireme's own; philox_test checks the numbers and their moments";
  op.samples = random_normal_samples();
  return op;
}

}  // namespace trireme::ops
