#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "ops/common.h"
#include "ops/philox.h"

namespace trireme::ops {
namespace {

// The numbers of a dtype in [low, high): the first, the last, and the distance of low and high.
struct Interval {
  double first, last, width;
};

template <class T>
Interval interval(double low, double high) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  auto first = static_cast<T>(low), last = static_cast<T>(high);
  while (first < low) first = std::nextafter(first, kInfinity);
  while (last >= high && last > first) last = std::nextafter(last, -kInfinity);
  return {first, std::max(first, last), high - low};
}

// Rounding may give `high` itself, which does not belong to the interval.
Interval interval_of(const Attributes& attributes, DType dtype) {
  const double low = get_attribute<double>(attributes, "low");
  const double high = get_attribute<double>(attributes, "high");
  return dtype == DType::f32 ? interval<float>(low, high) : interval<double>(low, high);
}

ExprId lower_random_uniform(Lowering& l) {
  Builder& k = l.k();
  const DType dtype = l.op().result()->type.dtype;
  const Interval in = interval_of(l.op().attributes, dtype);
  const PhiloxExprs words =
      random_words(l, get_attribute<std::int64_t>(l.op().attributes, "stream"));
  const ExprId u = uniform_number(k, words, dtype);
  const ExprId value = k.add(k.constant(dtype, in.first), k.mul(k.constant(dtype, in.width), u));
  return k.binary(ExprOp::min, value, k.constant(dtype, in.last));
}

void random_uniform_reference(const Reference& r) {
  const DType dtype = r.op.result()->type.dtype;
  const Interval in = interval_of(r.op.attributes, dtype);
  const auto stream =
      static_cast<std::uint64_t>(get_attribute<std::int64_t>(r.op.attributes, "stream"));
  for (std::size_t i = 0; i < r.results[0]->data.size(); ++i) {
    const PhiloxWords words = random_words(r.run_seed, stream, i);
    r.results[0]->data[i] = std::min(in.first + in.width * uniform_number(words, dtype), in.last);
  }
}

std::vector<Type> random_uniform_type(const TypeContext& context) {
  const double low = get_attribute<double>(context.attributes, "low");
  const double high = get_attribute<double>(context.attributes, "high");
  const double largest = get_attribute<DType>(context.attributes, "dtype") == DType::f32
                             ? static_cast<double>(std::numeric_limits<float>::max())
                             : std::numeric_limits<double>::max();
  // Not true for NaN.
  require(low <= high && -largest <= low && high <= largest && high - low <= largest,
          fmt::format("low must not be above high, and high - low must be a finite number of the "
                      "dtype, but low is {} and high is {}",
                      low, high));
  return random_type(Numbers::floats)(context);
}

std::vector<Sample> random_uniform_samples() {
  std::vector<Sample> samples;
  const auto add = [&](Shape shape, DType dtype, double low = -0.5, double high = 2.5) {
    Sample sample;
    sample.attributes = {{"dtype", dtype},
                         {"high", high},
                         {"low", low},
                         {"shape", std::move(shape)},
                         {"stream", std::int64_t{5}}};
    samples.push_back(sample);
  };
  add({3, 5, 7}, DType::f32);
  add({1001}, DType::f64);
  add({}, DType::f32);
  add({100, 100}, DType::f32, 1000, 1001);  // where numbers are far apart
  add({0, 3}, DType::f32);
  return samples;
}

}  // namespace

Op random_uniform() {
  Op op(
      "random_uniform(; shape: shape, stream: int = -1, low: float = 0.0, high: float = 1.0, "
      "dtype: dtype = f32)");
  op.doc =
      "Random numbers from a uniform distribution over [low, high); `low` if both are equal.\n"
      "`high` - `low` must be a finite number of the dtype.\n"
      "They depend only on the seed, the stream and the position.\n"
      "Each run has another seed, and ops of the same stream return the same numbers.\n"
      "Without `stream`, each call has a stream of its own.\n"
      "`dtype` is f32 or f64.";
  op.traits = Trait::generator | Trait::random | Trait::not_differentiable;
  op.type = random_uniform_type;
  op.lower = lower_random_uniform;
  op.reference = random_uniform_reference;
  op.no_torch_reason =
      "the generator is Trireme's own; philox_test checks the numbers and their moments";
  op.samples = random_uniform_samples();
  return op;
}

}  // namespace trireme::ops
