// Metrics of packed sequences.

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "nn/layer.h"
#include "trireme/functions.h"
#include "trireme/metrics.h"
#include "trireme/ops.h"

namespace trireme {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// --- Perplexity

// `parts` holds the sum of losses and the number of tokens.
double perplexity_of(const Tensor& parts) {
  const double* n = parts.data<double>();
  return n[1] == 0 ? kNaN : std::exp(n[0] / n[1]);
}

// Both are summed in f64: batches may have any number of tokens.
Metric perplexity_metric(Value losses, Value tokens) {
  return {.name = "perplexity",
          .value = stack({losses, tokens}, 0),
          .combine = Metric::Combine::sum,
          .finish = perplexity_of,
          .larger_better = false};
}

void check_losses(Value loss) {
  if (is_arithmetic_float(loss.dtype())) return;
  fail_usage("perplexity: the losses of tokens must be floats, but are " + loss.str());
}

// --- Chunks

// A batch as i64[n], so that batches of any sizes can be joined: the numbers of splits and of
// tokens, then the splits, the predicted tags and the right ones.
Value packed(Value predicted, Value right, Value splits) {
  const Value sizes = stack({dim_size(splits, {.dtype = i64}), dim_size(right, {.dtype = i64})}, 0);
  return concat({sizes, splits, predicted, right}, {.axis = 0});
}

void update(ChunkF1& chunks, const Tensor& batches) {
  std::span<const std::int64_t> rest(batches.data<std::int64_t>(),
                                     static_cast<std::size_t>(batches.elements()));
  const auto take = [&](std::int64_t count) {
    const std::span<const std::int64_t> taken = rest.first(static_cast<std::size_t>(count));
    rest = rest.subspan(taken.size());
    return taken;
  };
  while (!rest.empty()) {
    const std::span<const std::int64_t> sizes = take(2);
    const std::span<const std::int64_t> splits = take(sizes[0]), predicted = take(sizes[1]);
    chunks.update(predicted, take(sizes[1]), splits);
  }
}

void check_packed(const char* metric, Value predicted, Value right, Value splits) {
  const auto is_ids = [](Value x) { return x.rank() == 1 && x.dtype() == DType::i64; };
  if (is_ids(predicted) && is_ids(right) && is_ids(splits) && predicted.shape() == right.shape()) {
    return;
  }
  fail_usage(
      fmt::format("{}: predicted and right tags must be i64[tokens], splits i64[sequences + 1]\n"
                  "  predicted  {}\n  right      {}\n  splits     {}\n"
                  "  hint       argmax(logits, {{.axes = {{-1}}}}) gives ids of scores",
                  metric, predicted.str(), right.str(), splits.str()));
}

using Rate = double (ChunkCounts::*)() const;

Metric chunk_metric(const char* name, Rate rate, Value predicted, Value right, Value splits,
                    ChunkOptions options, const SourceLocation& where) {
  const nn::LocationScope at(predicted, name, where);
  check_packed(name, predicted, right, splits);
  if (options.tags.empty()) {
    fail_usage(fmt::format("{}: ids need the list of tags: set ChunkOptions::tags", name));
  }
  const auto finish = [rate, empty = ChunkF1(std::move(options))](const Tensor& all) {
    ChunkF1 chunks = empty;
    update(chunks, all);
    return chunks.sequences() == 0 ? kNaN : (chunks.counts().*rate)();
  };
  return {.name = name,
          .value = packed(predicted, right, splits),
          .combine = Metric::Combine::join,
          .finish = finish,
          .larger_better = true};
}

}  // namespace

Metric perplexity(Value loss_per_token, SourceLocation where) {
  const nn::LocationScope at(loss_per_token, "perplexity", where);
  check_losses(loss_per_token);
  return perplexity_metric(sum(cast(loss_per_token, {.dtype = f64})),
                           dim_size(loss_per_token, {.dtype = f64}));
}

Metric perplexity(Value loss_per_token, Value weight, SourceLocation where) {
  const nn::LocationScope at(loss_per_token, "perplexity", where);
  check_losses(loss_per_token);
  if (loss_per_token.shape() != weight.shape()) {
    fail_usage(
        fmt::format("perplexity: losses and weights must be of one shape\n"
                    "  losses   {}\n  weights  {}",
                    loss_per_token.str(), weight.str()));
  }
  const Value counted = cast(weight, {.dtype = f64});
  // What does not count may be anything, even NaN.
  const Value losses =
      trireme::where(trireme::equal(counted, 0.0), 0.0, cast(loss_per_token, {.dtype = f64}));
  return perplexity_metric(sum(losses * counted), sum(counted));
}

Metric chunk_f1(Value predicted, Value right, Value splits, ChunkOptions options,
                SourceLocation where) {
  return chunk_metric("chunk_f1", &ChunkCounts::f1, predicted, right, splits, std::move(options),
                      where);
}

Metric chunk_precision(Value predicted, Value right, Value splits, ChunkOptions options,
                       SourceLocation where) {
  return chunk_metric("chunk_precision", &ChunkCounts::precision, predicted, right, splits,
                      std::move(options), where);
}

Metric chunk_recall(Value predicted, Value right, Value splits, ChunkOptions options,
                    SourceLocation where) {
  return chunk_metric("chunk_recall", &ChunkCounts::recall, predicted, right, splits,
                      std::move(options), where);
}

}  // namespace trireme
