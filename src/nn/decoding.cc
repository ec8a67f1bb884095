#include "trireme/decoding.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "nn/generation.h"
#include "trireme/functions.h"
#include "trireme/nn.h"
#include "trireme/ops.h"

namespace trireme::nn {
namespace {

// Returns the next word i64 [rows] for logits [rows, vocabulary].
using Choose = std::function<Value(const Value& logits)>;

// Builds a loop in which hypotheses are independent of each other.
Hypotheses generate(Generation& loop, const Decoder& decoder, const Choose& choose) {
  const auto [word, logits] = loop.run(decoder);
  const auto zeros = [&](const Shape& shape, DType dtype) {
    return loop.carry(loop.outside([&] { return loop.constant(shape, dtype, 0); }));
  };
  const Shape rows{loop.rows()};
  const Value step = zeros({}, DType::i64), log_p = zeros(rows, logits.dtype());
  const Value finished = zeros(rows, DType::boolean), lengths = zeros(rows, DType::i64);
  const Value tokens = zeros({loop.rows(), loop.options().limit}, DType::i64);

  const Value chosen = choose(logits);
  const Value column = reshape(chosen, {.shape = {loop.rows(), 1}});
  const Value gained =
      reshape(take_along_axis(logits, column) - log_sum_exp(logits), {.shape = rows});
  const double end = static_cast<double>(loop.options().end);
  const Value next = trireme::where(finished, end, chosen);
  const Value ends = equal(next, end);
  loop.advance({});
  loop.set_next(word, next);
  loop.set_next(step, step + 1.0);
  loop.set_next(log_p, log_p + trireme::where(finished, 0.0, gained));
  loop.set_next(finished, ends);
  loop.set_next(lengths, lengths + cast(logical_not(ends), {.dtype = DType::i64}));
  loop.set_next(tokens, with_column(tokens, next, step));

  const Values results = loop.finish([&](const Values& carried) {
    const Value more = any(logical_not(carried[3]));
    return logical_and(carried[1] < static_cast<double>(loop.options().limit), more);
  });
  const Shape hypotheses{loop.examples(), loop.options().copies};
  const auto by_example = [&](const Value& x) { return reshape(x, {.shape = hypotheses}); };
  return hypotheses_of(loop,
                       {.tokens = results[5],
                        .lengths = by_example(results[4]),
                        .scores = by_example(results[2]),
                        .ended = by_example(results[3])},
                       loop.options().copies);
}

// Samples from the softmax of each row of x: the maximum of x - log(-log(u)) with uniform u
// (Gumbel 1954).
Value draw(const Value& x, const Value& like) {
  Layer layer(like, "sample", "", SourceLocation::current());
  const Value u = layer.make(
      "random_uniform", {{"dtype", x.dtype()}, {"shape", x.shape()}, {"stream", stream_of(layer)}});
  return argmax(x - log(-log(u)), {.axes = {1}});
}

Value draw_word(const Value& logits, const SampleOptions& options, std::int64_t vocabulary) {
  const Value x = logits / options.temperature;
  if (options.top_k == 0 && options.top_p == 1) return draw(x, options.over);
  const std::int64_t candidates =
      options.top_k == 0 ? vocabulary : std::min(options.top_k, vocabulary);
  const std::vector<Value> likeliest = top_k(x, {.k = candidates});
  Value kept = likeliest[0];
  if (options.top_p < 1) {
    const Value before = cumsum(softmax(kept), {.axis = 1, .exclusive = true});
    kept = trireme::where(before < options.top_p, kept, -std::numeric_limits<double>::infinity());
  }
  const Value place = reshape(draw(kept, options.over), {.shape = {x.dim(0), 1}});
  return reshape(take_along_axis(likeliest[1], place), {.shape = {x.dim(0)}});
}

void check(const Generation& loop, const SampleOptions& options) {
  if (!(options.temperature > 0) || options.temperature > std::numeric_limits<double>::max()) {
    loop.fail(".temperature is " + std::to_string(options.temperature),
              "it must be finite and above 0; for 0, use greedy_search()");
  }
  if (options.top_k < 0) {
    loop.fail(".top_k is " + std::to_string(options.top_k),
              "it must be above 0, or 0 for all words");
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    loop.fail(".top_p is " + std::to_string(options.top_p), "it must be in (0, 1]");
  }
}

}  // namespace

Hypotheses greedy_search(const Decoder& decoder, const GreedyOptions& options,
                         SourceLocation where) {
  Generation loop({"greedy_search", "", 1, options.start, options.end, options.limit, options.over},
                  where);
  return generate(loop, decoder, [](const Value& logits) { return argmax(logits, {.axes = {1}}); });
}

Hypotheses sample(const Decoder& decoder, const SampleOptions& options, SourceLocation where) {
  Generation loop({"sample", "samples", options.samples, options.start, options.end, options.limit,
                   options.over},
                  where);
  check(loop, options);
  return generate(loop, decoder, [&](const Value& logits) {
    return draw_word(logits, options, loop.vocabulary());
  });
}

}  // namespace trireme::nn
