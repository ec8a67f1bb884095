#pragma once

// Attention and what is built of it, after Vaswani et al. 2017, "Attention is all you need". Sequences are
// [batch, steps, width], whose width is a number, the batch and the steps may be symbols; or, but for
// scaled_dot_product_attention(), of different lengths, the rows [rows, width] of a ragged input or what is made
// of them (trireme/sequence.h): nothing is padded or masked there by the user. docs/explanation/sequences.md.

#include <cstdint>
#include <optional>
#include <string>

#include "trireme/export.h"
#include "trireme/nn.h"
#include "trireme/program.h"

namespace trireme::nn {

class Step;  // trireme/rnn.h

// --- Attention --------------------------------------------------------------------------------

struct ScaledDotProductOptions {
  // Which keys a query may look at: boolean, true where it may, or numbers that are added to the
  // scores. Broadcast to [..., query steps, key steps].
  Value mask = {};
  // Boolean [batch, key steps]: true where there is a key, false where the sequence is padded.
  Value key_mask = {};
  bool causal = false;  // query i looks at keys 0 ... i only
  double dropout = 0;   // of the weights, in training
};
// softmax(query key^T / sqrt(width)) value, for query [..., query steps, width], key [..., key
// steps, width] and value [..., key steps, value width]. A query that may look at no key at all
// gets the mean of all values.
TRIREME_API Value scaled_dot_product_attention(const Value& query, const Value& key,
                                               const Value& value,
                                               ScaledDotProductOptions options = {},
                                               SourceLocation where = SourceLocation::current());

struct AttentionOptions {
  std::int64_t heads = 0;  // required: divides width
  std::int64_t width = 0;  // of queries, keys and values in all heads; the query's width if 0
  double dropout = 0;      // of the weights, in training
  // As in ScaledDotProductOptions, for scores [batch, heads, query steps, key steps]: a mask [query
  // steps, key steps] is for all examples and heads, [batch, 1, query steps, key steps] for all
  // heads.
  Value mask = {}, key_mask = {};
  bool causal = false;
  bool bias = true;
  Initializer weight_init = xavier_uniform();
  // Self-attention inside of a step, of x [active, width]: to this step and those before it, whose keys and
  // values the step keeps in memories of `limit` rows. One more step is Error(data) when it runs.
  Step* step = nullptr;
  std::int64_t limit = 0;
  std::string name = {};
};
// Heads side by side: head h has columns h * width / heads and on of the projections "query", "key"
// and "value", each a linear layer with weight [in, width] and, but for "key", where softmax would
// ignore it, bias [width]; the heads' results go through the linear layer "out", weight [width,
// width of the query]. Self-attention is multi_head_attention(x, x, x, ...).
// Of sequences of different lengths: query i of sequence s looks at the rows of sequence s of the keys. There are
// as many sequences of both; or the queries are one for each sequence of the keys, [n, width], as in a step those
// of a static input. A query without keys gets the bias of "out". Takes no masks. Behind the projections whole
// sequences are padded to the longest, for products of matrices; queries one by one are not.
TRIREME_API Value multi_head_attention(const Value& query, const Value& key, const Value& value,
                                       AttentionOptions options,
                                       SourceLocation where = SourceLocation::current());

// --- Positions --------------------------------------------------------------------------------

// x plus sin(step / 10000^(2i / width)) in column 2i and the cosine of it in column 2i + 1.
TRIREME_API Value add_sinusoidal_positions(const Value& x,
                                           SourceLocation where = SourceLocation::current());
// The same for rows x [rows, width] that are steps `positions`, integers [rows], of whatever they belong to.
TRIREME_API Value add_sinusoidal_positions(const Value& x, const Value& positions,
                                           SourceLocation where = SourceLocation::current());

struct LearnedPositionsOptions {
  std::int64_t most_steps = 0;  // required; later steps of longer sequences share the last row
  Initializer weight_init = normal(0, 0.02);
  ParameterSettings weight_settings = {};
  std::string name = {};
};
// x plus the first rows of parameter weight [most_steps, width].
TRIREME_API Value add_learned_positions(const Value& x, LearnedPositionsOptions options,
                                        SourceLocation where = SourceLocation::current());

// --- Transformers -----------------------------------------------------------------------------

struct TransformerBlockOptions {
  std::int64_t heads = 0;         // required
  std::int64_t feed_forward = 0;  // width of the inner layer; four times the width of x if 0
  Activation activation = relu;
  double dropout = 0.1;  // of attention weights, inner layer and both or all three branches
  // Every branch is x + f(norm(x)), which trains without warm-up (Xiong et al. 2020), or, as in
  // the paper, norm(x + f(x)).
  bool pre_norm = true;
  double epsilon = 1e-5;                        // of the norms
  std::optional<Initializer> weight_init = {};  // of all matrices; as their layers have it
  std::optional<bool> causal = {};              // in self-attention; by default only a decoder's is
  Value mask = {}, key_mask = {};               // of self-attention, as in AttentionOptions
  Value memory_mask = {}, memory_key_mask = {};  // of a decoder's attention to the memory
  // Of x [active, width] inside of a step, as in AttentionOptions; a decoder's memory is a static input.
  Step* step = nullptr;
  std::int64_t limit = 0;
  std::string name = {};
};
// Self-attention, layer "attention", and for every step two linear layers, "feed_forward_in" and
// "feed_forward_out", each branch with its "..._norm".
TRIREME_API Value transformer_encoder_block(const Value& x, TransformerBlockOptions options,
                                            SourceLocation where = SourceLocation::current());
// Between the two, attention to the encoder's result `memory`, layer "memory_attention".
TRIREME_API Value transformer_decoder_block(const Value& x, const Value& memory,
                                            TransformerBlockOptions options,
                                            SourceLocation where = SourceLocation::current());

struct TransformerOptions {
  std::int64_t layers = 6;
  TransformerBlockOptions block = {};   // of all; its `name` does not count
  std::optional<bool> final_norm = {};  // "final_norm" at the end; by default if pre_norm
  std::string name = {};
};
// Blocks "block_0", "block_1" ... in a row.
TRIREME_API Value transformer_encoder(const Value& x, TransformerOptions options,
                                      SourceLocation where = SourceLocation::current());
TRIREME_API Value transformer_decoder(const Value& x, const Value& memory,
                                      TransformerOptions options,
                                      SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
