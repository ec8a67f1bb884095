// Attention of sequences of different lengths, and of the steps that generate one.

#include <cmath>
#include <string>

#include "base/error.h"
#include "ir/mistake.h"
#include "nn/sequence.h"
#include "nn/sequences.h"
#include "trireme/attention.h"
#include "trireme/functions.h"
#include "trireme/sequence.h"

namespace trireme::nn {
namespace {

// [rows, width] as [rows, heads, width / heads].
Value by_head(const Value& x, std::int64_t heads) {
  return reshape(x, {.shape = {x.dim(0), heads, x.dim(1).constant() / heads}});
}
Value joined(const Value& x) { return reshape(x, {.shape = {x.dim(0), x.dim(1) * x.dim(2)}}); }

bool is_one_by_sequence(const Value& query, const Value& key) {
  return Sequences("attention", key).count == query.dim(0);
}

// Products of matrices want all sequences of one length.
Value attend_padded(const Value& query, const Value& key, const Value& value, const Heads& heads) {
  const bool same = query.dim(0) == key.dim(0);
  const Dim queries = sequence::longest(query), keys = same ? queries : sequence::longest(key);
  // A causal query that is there looks at no key that is not.
  const Value key_mask = heads.causal && same ? Value() : sequence::mask(key, keys);
  const Value q = sequence::pad(query, queries), k = sequence::pad(key, keys);
  const Value v = sequence::pad(value, keys);
  const Value seen = attend(q, k, v, heads, {}, key_mask);
  return sequence::unpad(seen, query);
}

// One query for each sequence of keys.
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
    return Value(ir::find_splits(*program.insertion_block, x.dim(0)));
  };
  const auto refuse = [&](const std::string& message, const std::string& hint) {
    fail_usage(ir::describe_mistake("attention", nullptr, {query.get(), key.get()},
                                    program.locate(SourceLocation::current()), {message, hint}));
  };
  const Value of_keys = splits(key), of_queries = splits(query);
  if (!of_keys) {
    refuse("the rows of the keys are not those of sequences",
           "rows of sequences are the first dimension of a ragged input: input(name, dtype, "
           "ragged({batch}, {width})); others are [batch, steps, width]");
  }
  const Dim count = of_keys.dim(0) - 1;
  if (query.dim(0) == count) {
    if (causal) refuse("one query for each sequence is never causal", "leave .causal out");
    return;
  }
  if (of_queries && of_queries.dim(0) - 1 == count) return;
  const std::string asked =
      of_queries ? (of_queries.dim(0) - 1).str() + " sequences, split by " + of_queries.str()
                 : query.dim(0).str() + " rows that are not those of sequences";
  refuse("the queries are " + asked + ", and the keys " + count.str() + " sequences, split by " +
             of_keys.str(),
         "there are as many sequences of both, or one query for each sequence of keys");
}

Value attend_ragged(const Value& query, const Value& key, const Value& value, const Heads& heads) {
  return is_one_by_sequence(query, key) ? attend_by_row(query, key, value, heads)
                                        : attend_padded(query, key, value, heads);
}

// Memories are [active, heads, limit, width of a head], of which the first `count` rows are there.
Value attend_in_step(Step& step, std::int64_t limit, const Value& query, const Value& key,
                     const Value& value, const Heads& heads) {
  const Value count = step.memory({.dtype = DType::i64}, heads.where);
  const std::string full =
      "attention: there are more steps than its limit of " + std::to_string(limit);
  const Value place = check_indices(count, {.size = limit, .what = full});
  const auto with_rows_before = [&](const Value& x) {
    const Value row = by_head(x, heads.count);
    const Value before =
        step.memory({.row = {heads.count, limit, row.dim(2)}, .dtype = x.dtype()}, heads.where);
    const Value here = equal(counted(x, before.shape(), 2), spread(place, before, {0}));
    const Value now = select(here, spread(row, before, {0, 1, 3}), before);
    step.update(before, now, heads.where);
    return now;
  };
  const Value keys = with_rows_before(key), values = with_rows_before(value);
  step.update(count, count + 1.0, heads.where);
  const Value number = counted(place, {query.dim(0), limit}, 1);
  const Value there = number <= spread(place, number, {0});
  const Value q = unsqueeze(by_head(query, heads.count), 2);
  const Value seen = scaled_dot_product_attention(
      q, keys, values, {.key_mask = there, .dropout = heads.dropout}, heads.where);
  return joined(squeeze(seen, {2}));
}

}  // namespace trireme::nn
