#pragma once

#include <functional>

#include "nn/layer.h"
#include "trireme/attention.h"
#include "trireme/rnn.h"

namespace trireme::nn {

// Error(usage) with the name of `layer` unless x is [batch, steps, width] with a constant width, or
// sequences of different lengths, [rows, width].
void require_sequence(Layer& layer, const Value& x);

// The options of attention on projected queries, keys and values.
struct Heads {
  std::int64_t count, key_count;  // of queries, and of keys and values
  bool causal, blockwise;
  double dropout;
  // Numbers that are added to the scores [heads, queries, keys]; may be empty.
  std::function<Value(const Dim& queries, const Dim& keys)> bias;
  SourceLocation where;
};
// Attention on [batch, steps, width] each.
Value attend(const Value& query, const Value& key, const Value& value, const Heads& heads,
             const Value& mask, const Value& key_mask);
// Attention on sequences of different lengths.
Value attend_ragged(const Value& query, const Value& key, const Value& value, const Heads& heads);
// The same without a matrix of scores. Dense [batch, steps, width] or rows [rows, width].
Value attend_blockwise(const Value& query, const Value& key, const Value& value, const Heads& heads,
                       const Value& key_mask);
// The blockwise form of scaled_dot_product_attention(). `per_key` heads of query share one of key.
Value attend_in_blocks(const Value& query, const Value& key, const Value& value,
                       const ScaledDotProductOptions& options, double scale, std::int64_t per_key);
// Error(usage) unless the mask is boolean [batch, steps], for `like` [batch, ..., ...].
void require_key_mask(const Value& key_mask, const Value& like, const Dim& steps);
// Reshapes the last dimension to [heads, width of a head], and back.
Value by_head(const Value& x, std::int64_t heads);
Value joined_heads(const Value& x);
// Repeats each of the heads along `axis` for the `count / heads` heads of queries that share it.
Value shared_heads(const Value& x, int axis, std::int64_t count);

// What attention in a step needs besides its heads.
struct StepAttention {
  Step& step;
  std::int64_t limit;
  // The index of this step, i64 [active]: a state that step_position() makes.
  Value position;
  // Numbers that are added to the scores [active, heads, 1, limit], from the distances of keys to
  // the query, i64 [active, limit]; may be empty.
  std::function<Value(const Value& distance)> bias;
};
Value step_position(Step& step, std::int64_t limit, const SourceLocation& where);
// Attention in a step, on [active, width] each.
Value attend_in_step(const StepAttention& in, const Value& query, const Value& key,
                     const Value& value, const Heads& heads);

// Positions relative to the query, for one layer of attention.
class RelativeBias {
 public:
  // `before`: queries attend to earlier keys only.
  RelativeBias(Layer& layer, const RelativePositions& options, std::int64_t heads, DType dtype,
               bool before);
  // [heads, queries, keys].
  Value bias(const Dim& queries, const Dim& keys) const;
  // [n, heads, 1, m] of distances in (-limit, limit), i64 [n, m].
  Value bias_of(const Value& distance, std::int64_t limit) const;

 private:
  // [count, heads]: for `count` distances from 1 - `before`.
  Value by_distance(const Dim& before, const Dim& count) const;
  Value bucket(const Value& distance) const;

  Layer& layer_;
  RelativePositions options_;
  std::int64_t heads_;
  DType dtype_;
  bool before_;
  Value weight_;
};

// Error(usage) with the names of `layer` and both values unless attend_ragged() supports them.
void require_same_sequences(Layer& layer, const Value& query, const Value& key, bool causal);

}  // namespace trireme::nn
