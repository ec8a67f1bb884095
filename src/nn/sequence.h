#pragma once

#include "nn/layer.h"
#include "trireme/rnn.h"

namespace trireme::nn {

// Error(usage) naming `layer` unless x is [batch, steps, width] with a constant width, or sequences of different
// lengths, [rows, width].
void require_sequence(Layer& layer, const Value& x);

// What attention does with the projections of queries, keys and values.
struct Heads {
  std::int64_t count;
  bool causal;
  double dropout;
  SourceLocation where;
};
// Of [batch, steps, width] each; `options` has what is not in `heads`.
Value attend(const Value& query, const Value& key, const Value& value, const Heads& heads,
             const Value& mask, const Value& key_mask);
// Of sequences of different lengths.
Value attend_ragged(const Value& query, const Value& key, const Value& value, const Heads& heads);
// Of a step: [active, width] each.
Value attend_in_step(Step& step, std::int64_t limit, const Value& query, const Value& key,
                     const Value& value, const Heads& heads);
// Error(usage) naming `layer` and both values unless attend_ragged() can do it.
void require_same_sequences(Layer& layer, const Value& query, const Value& key, bool causal);

}  // namespace trireme::nn
