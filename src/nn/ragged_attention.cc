// Attention on sequences of different lengths, and in the steps of generation.

#include <cmath>
#include <string>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/mistake.h"
#include "nn/sequence.h"
#include "nn/sequences.h"
#include "trireme/attention.h"
#include "trireme/functions.h"
#include "trireme/sequence.h"

namespace trireme::nn {
namespace {

bool has_one_query_per_sequence(const Value& query, const Value& key) {
  return Sequences("attention", key).count == query.dim(0);
}

// Pads all sequences to one length, as matrix products need it.
Value attend_padded(const Value& query, const Value& key, const Value& value, const Heads& heads) {
  const bool same = query.dim(0) == key.dim(0);
  const Dim queries = sequence::longest(query), keys = same ? queries : sequence::longest(key);
  // A causal query inside its sequence attends to no padded key.
  const Value key_mask = heads.causal && same ? Value() : sequence::mask(key, keys);
  const Value q = sequence::pad(query, queries), k = sequence::pad(key, keys);
  const Value v = sequence::pad(value, keys);
  const Value attended = attend(q, k, v, heads, {}, key_mask);
  return sequence::unpad(attended, query);
}

// Attention with one query for each sequence of keys.
Value attend_by_row(const Value& query, const Value& key, const Value& value, const Heads& heads) {
  const auto shared = [&](const Value& x) {
    return shared_heads(by_head(x, heads.key_count), 1, heads.count);
  };
  const Value k = shared(key), v = shared(value), q = by_head(query, heads.count);
  const double scale = 1 / std::sqrt(static_cast<double>(q.dim(2).constant()));
  const Value scores = sum(k * sequence::expand(q * scale, key), {.axes = {2}});
  const Value weights = dropout(sequence::softmax(scores), {.rate = heads.dropout}, heads.where);
  return joined_heads(sequence::sum(v * spread(weights, v, {0, 1})));
}

}  // namespace

void require_same_sequences(Layer& layer, const Value& query, const Value& key, bool causal) {
  ir::Program& program = layer.program();
  const auto splits = [&](const Value& x) {
    return Value(ir::find_splits(program.builder().block(), x.dim(0)));
  };
  const auto fail_attention = [&](const std::string& message, const std::string& hint) {
    fail_usage(ir::describe_mistake("attention", nullptr, {query.get(), key.get()},
                                    program.builder().locate(), {message, hint}));
  };
  const Value of_keys = splits(key), of_queries = splits(query);
  if (!of_keys) {
    fail_attention(
        "the rows of the keys are not rows of sequences",
        "rows of sequences are the first dimension of a ragged input: input(name, dtype, "
        "ragged({batch}, {width})); otherwise use [batch, steps, width]");
  }
  const Dim count = of_keys.dim(0) - 1;
  if (query.dim(0) == count) {
    if (causal)
      fail_attention("causal is not supported with one query for each sequence", "omit .causal");
    return;
  }
  if (of_queries && of_queries.dim(0) - 1 == count) return;
  const std::string queries_text =
      of_queries ? (of_queries.dim(0) - 1).str() + " sequences, split by " + of_queries.str()
                 : query.dim(0).str() + " rows that are not rows of sequences";
  fail_attention(
      "the queries are " + queries_text + ", but the keys are " + count.str() +
          " sequences, split by " + of_keys.str(),
      "use the same number of sequences for both, or one query for each sequence of keys");
}

Value attend_ragged(const Value& query, const Value& key, const Value& value, const Heads& heads) {
  if (has_one_query_per_sequence(query, key)) {
    if (heads.bias) {
      fail_layer("multi_head_attention",
                 "one query for each sequence has no position relative to the keys",
                 "omit .relative", query);
    }
    return attend_by_row(query, key, value, heads);
  }
  return heads.blockwise ? attend_blockwise(query, key, value, heads, {})
                         : attend_padded(query, key, value, heads);
}

Value step_position(Step& step, std::int64_t limit, const SourceLocation& where) {
  const Value count = step.state({.dtype = DType::i64}, where);
  const std::string full =
      "attention: there are more steps than its limit of " + std::to_string(limit);
  step.update(count, count + 1.0, where);
  return check_indices(count, {.size = limit, .what = full});
}

// Memories are [active, heads of keys, limit, width of a head]; their first rows, up to the
// position, are used.
Value attend_in_step(const StepAttention& in, const Value& query, const Value& key,
                     const Value& value, const Heads& heads) {
  const std::int64_t limit = in.limit;
  const auto append_to_memory = [&](const Value& x) {
    const Value row = by_head(x, heads.key_count);
    const Value before = in.step.state(
        {.row = {heads.key_count, limit, row.dim(2)}, .dtype = x.dtype()}, heads.where);
    const Value here = equal(counted(x, before.shape(), 2), spread(in.position, before, {0}));
    const Value now = trireme::where(here, spread(row, before, {0, 1, 3}), before);
    in.step.update(before, now, heads.where);
    return now;
  };
  const Value keys = append_to_memory(key), values = append_to_memory(value);
  const Value number = counted(in.position, {query.dim(0), limit}, 1);
  const Value distance = number - spread(in.position, number, {0});
  const Value q = unsqueeze(by_head(query, heads.count), 2);
  const Value attended =
      scaled_dot_product_attention(q, keys, values,
                                   {.mask = in.bias ? in.bias(distance) : Value(),
                                    .key_mask = distance <= 0.0,
                                    .dropout = heads.dropout},
                                   heads.where);
  return joined_heads(squeeze(attended, {2}));
}

}  // namespace trireme::nn
