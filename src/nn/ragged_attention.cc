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

// Reshapes [rows, width] to [rows, heads, width / heads].
Value by_head(const Value& x, std::int64_t heads) {
  return reshape(x, {.shape = {x.dim(0), heads, x.dim(1).constant() / heads}});
}
Value joined(const Value& x) { return reshape(x, {.shape = {x.dim(0), x.dim(1) * x.dim(2)}}); }

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
  const Value k = by_head(key, heads.count), v = by_head(value, heads.count);
  const Value q = by_head(query, heads.count);
  const double scale = 1 / std::sqrt(static_cast<double>(q.dim(2).constant()));
  const Value scores = sum(k * sequence::expand(q * scale, key), {.axes = {2}});
  const Value weights = dropout(sequence::softmax(scores), {.rate = heads.dropout}, heads.where);
  return joined(sequence::sum(v * spread(weights, v, {0, 1})));
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
  return has_one_query_per_sequence(query, key) ? attend_by_row(query, key, value, heads)
                                                : attend_padded(query, key, value, heads);
}

// Memories are [active, heads, limit, width of a head]; their first `count` rows are used.
Value attend_in_step(Step& step, std::int64_t limit, const Value& query, const Value& key,
                     const Value& value, const Heads& heads) {
  const Value count = step.state({.dtype = DType::i64}, heads.where);
  const std::string full =
      "attention: there are more steps than its limit of " + std::to_string(limit);
  const Value position = check_indices(count, {.size = limit, .what = full});
  const auto append_to_memory = [&](const Value& x) {
    const Value row = by_head(x, heads.count);
    const Value before =
        step.state({.row = {heads.count, limit, row.dim(2)}, .dtype = x.dtype()}, heads.where);
    const Value here = equal(counted(x, before.shape(), 2), spread(position, before, {0}));
    const Value now = trireme::where(here, spread(row, before, {0, 1, 3}), before);
    step.update(before, now, heads.where);
    return now;
  };
  const Value keys = append_to_memory(key), values = append_to_memory(value);
  step.update(count, count + 1.0, heads.where);
  const Value number = counted(position, {query.dim(0), limit}, 1);
  const Value is_used = number <= spread(position, number, {0});
  const Value q = unsqueeze(by_head(query, heads.count), 2);
  const Value attended = scaled_dot_product_attention(
      q, keys, values, {.key_mask = is_used, .dropout = heads.dropout}, heads.where);
  return joined(squeeze(attended, {2}));
}

}  // namespace trireme::nn
