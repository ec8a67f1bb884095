#pragma once

#include "nn/layer.h"
#include "trireme/rnn.h"

namespace trireme::nn {

// Error(usage) with the name of `layer` unless x is [batch, steps, width] with a constant width, or
// sequences of different lengths, [rows, width].
void require_sequence(Layer& layer, const Value& x);

// The options of attention on projected queries, keys and values.
struct Heads {
  std::int64_t count;
  bool causal;
  double dropout;
  SourceLocation where;
};
// Attention on [batch, steps, width] each.
Value attend(const Value& query, const Value& key, const Value& value, const Heads& heads,
             const Value& mask, const Value& key_mask);
// Attention on sequences of different lengths.
Value attend_ragged(const Value& query, const Value& key, const Value& value, const Heads& heads);
// Attention in a step, on [active, width] each.
Value attend_in_step(Step& step, std::int64_t limit, const Value& query, const Value& key,
                     const Value& value, const Heads& heads);
// Error(usage) with the names of `layer` and both values unless attend_ragged() supports them.
void require_same_sequences(Layer& layer, const Value& query, const Value& key, bool causal);

}  // namespace trireme::nn
