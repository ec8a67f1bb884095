#include "ops/common.h"
#include "ops/philox.h"

namespace trireme::ops {
namespace {

ExprId lower_random_bernoulli(Lowering& l) {
  Builder& k = l.k();
  const std::int64_t threshold =
      bernoulli_threshold(get_attribute<double>(l.op().attributes, "probability"));
  const ExprId word = random_word(l, get_attribute<std::int64_t>(l.op().attributes, "stream"));
  return k.cast(k.lt(word, k.integer(threshold)), l.op().result()->type.dtype);
}

void random_bernoulli_reference(const Reference& r) {
  const std::int64_t threshold =
      bernoulli_threshold(get_attribute<double>(r.op.attributes, "probability"));
  const auto stream =
      static_cast<std::uint64_t>(get_attribute<std::int64_t>(r.op.attributes, "stream"));
  for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
    r.results[0]->data[i] = random_word(r.run_seed, stream, i) < threshold ? 1 : 0;
  }
}

std::vector<Sample> random_bernoulli_samples() {
  std::vector<Sample> samples;
  const auto add = [&](Shape shape, double probability, DType dtype) {
    Sample sample;
    sample.attributes = {{"dtype", dtype},
                         {"probability", probability},
                         {"shape", std::move(shape)},
                         {"stream", std::int64_t{5}}};
    samples.push_back(sample);
  };
  add({3, 5, 7}, 0.5, DType::f32);
  add({1001}, 0.1, DType::f64);
  add({2, 3}, 1.0, DType::boolean);
  add({0, 3}, 0.5, DType::f32);
  return samples;
}

}  // namespace

Op random_bernoulli() {
  Op op(
      "random_bernoulli(; shape: shape, probability: float, stream: int = -1, dtype: dtype = f32)");
  op.doc =
      "Random numbers that are 1 with the given probability and 0 otherwise.\n"
      "They depend only on the seed, the stream and the position.\n"
      "Each run has another seed, and ops of the same stream return the same numbers.\n"
      "Without `stream`, each call has a stream of its own.";
  op.traits = Trait::generator | Trait::random | Trait::not_differentiable;
  op.type = [](const TypeContext& context) {
    const double probability = get_attribute<double>(context.attributes, "probability");
    require(probability >= 0 && probability <= 1,
            "probability must be in [0, 1], but it is " + std::to_string(probability));
    return random_type(Numbers::ordered)(context);
  };
  op.lower = lower_random_bernoulli;
  op.reference = random_bernoulli_reference;
  op.no_torch_reason =
      "the generator is Trireme's own; philox_test checks the numbers and their moments";
  op.samples = random_bernoulli_samples();
  return op;
}

}  // namespace trireme::ops
