#pragma once

// Attention and Transformers, after Vaswani et al. 2017, "Attention is all you need". Sequences are
// [batch, steps, width], where width is a number, and batch and steps may be symbols. All functions
// except scaled_dot_product_attention() also take sequences of different lengths: rows [rows,
// width] of a ragged input or values computed from them (trireme/sequence.h). These need no padding
// or masks from the user. See docs/explanation/sequences.md.

#include <cstdint>
#include <optional>
#include <string>

#include "trireme/deprecated.h"
#include "trireme/export.h"
#include "trireme/nn.h"
#include "trireme/program.h"

namespace trireme::nn {

class Step;  // trireme/rnn.h

// --- Attention --------------------------------------------------------------------------------

struct ScaledDotProductOptions {
  // Which keys a query may attend to: boolean, true where it may, or numbers that are added to the
  // scores. Broadcast to [..., query steps, key steps].
  Value mask = {};
  // Boolean [batch, key steps]: true for a key, false for padding.
  Value key_mask = {};
  bool causal = false;  // query i attends to keys 0 ... i only
  double dropout = 0;   // of the weights, in training
};
// softmax(query key^T / sqrt(width)) value, for query [..., query steps, width], key [..., key
// steps, width] and value [..., key steps, value width]. A query that may attend to no key gets the
// mean of all values.
TRIREME_API Value scaled_dot_product_attention(const Value& query, const Value& key,
                                               const Value& value,
                                               ScaledDotProductOptions options = {},
                                               SourceLocation where = SourceLocation::current());

struct AttentionOptions {
  std::int64_t heads = 0;  // required: divides width
  std::int64_t width = 0;  // of queries, keys and values in all heads; 0: the width of query
  double dropout = 0;      // of the weights, in training
  // As in ScaledDotProductOptions, for scores [batch, heads, query steps, key steps]: a mask [query
  // steps, key steps] is for all examples and heads, [batch, 1, query steps, key steps] for all
  // heads.
  Value mask = {}, key_mask = {};
  bool causal = false;
  bool bias = true;
  Initializer weight_init = xavier_uniform();
  // Self-attention inside a step, of x [active, width]: attends to this step and earlier ones.
  // Their keys and values are kept in states of `limit` rows. More steps are Error(data) at run
  // time.
  Step* step = nullptr;
  std::int64_t limit = 0;
  std::string name = {};
};
// The heads split the columns: head h uses columns h * width / heads to (h + 1) * width / heads of
// the projections "query", "key" and "value". Each projection is a linear layer with weight [in,
// width] and bias [width]; "key" has no bias, since softmax would cancel it. The results of the
// heads go through the linear layer "out", weight [width, width of the query]. Self-attention is
// multi_head_attention(x, x, x, ...).
//
// Sequences of different lengths: query i of sequence s attends to the rows of sequence s of the
// keys. Queries and keys have the same number of sequences. Alternatively there is one query for
// each sequence of keys, [n, width], for example in a step whose static input is the keys. A query
// without keys gets the bias of "out". Masks are not allowed. After the projections, whole
// sequences are padded to the longest, for matrix products; single queries are not.
TRIREME_API Value multi_head_attention(const Value& query, const Value& key, const Value& value,
                                       AttentionOptions options,
                                       SourceLocation where = SourceLocation::current());

// --- Positions --------------------------------------------------------------------------------

// x plus sin(step / 10000^(2i / width)) in column 2i and the cosine in column 2i + 1.
TRIREME_API Value add_sinusoidal_positions(const Value& x,
                                           SourceLocation where = SourceLocation::current());
// The same for rows x [rows, width] at the given `positions`, integers [rows].
TRIREME_API Value add_sinusoidal_positions(const Value& x, const Value& positions,
                                           SourceLocation where = SourceLocation::current());

struct LearnedPositionsOptions {
  std::int64_t max_steps = 0;  // required; later steps use the last row
  DeprecatedOption<std::int64_t, "most_steps", "max_steps"> most_steps = {};
  Initializer weight_init = normal(0, 0.02);
  ParameterSettings weight_settings = {};
  std::string name = {};
};
// x plus the first rows of parameter weight [max_steps, width].
TRIREME_API Value add_learned_positions(const Value& x, LearnedPositionsOptions options,
                                        SourceLocation where = SourceLocation::current());

// --- Transformers -----------------------------------------------------------------------------

struct TransformerBlockOptions {
  std::int64_t heads = 0;         // required
  std::int64_t feed_forward = 0;  // width of the inner layer; 0: four times the width of x
  Activation activation = relu;
  double dropout = 0.1;  // of attention weights, the inner layer and all branches
  // true: every branch is x + f(norm(x)), which trains without warm-up (Xiong et al. 2020). false:
  // norm(x + f(x)), as in the paper.
  bool pre_norm = true;
  double epsilon = 1e-5;                         // of the norms
  std::optional<Initializer> weight_init = {};   // of all matrices; default: as in their layers
  std::optional<bool> causal = {};               // in self-attention; default: true for decoders
  Value mask = {}, key_mask = {};                // of self-attention, as in AttentionOptions
  Value memory_mask = {}, memory_key_mask = {};  // of a decoder's attention to `memory`
  // For x [active, width] inside a step, as in AttentionOptions. A decoder's `memory` is then a
  // static input.
  Step* step = nullptr;
  std::int64_t limit = 0;
  std::string name = {};
};
// Self-attention, layer "attention", then two linear layers applied to every step,
// "feed_forward_in" and "feed_forward_out". Each branch has a norm, named with the suffix "_norm".
TRIREME_API Value transformer_encoder_block(const Value& x, TransformerBlockOptions options,
                                            SourceLocation where = SourceLocation::current());
// Adds attention to the encoder's result `memory`, layer "memory_attention", between the two.
TRIREME_API Value transformer_decoder_block(const Value& x, const Value& memory,
                                            TransformerBlockOptions options,
                                            SourceLocation where = SourceLocation::current());

struct TransformerOptions {
  std::int64_t layers = 6;
  TransformerBlockOptions block = {};   // of all blocks; its `name` is ignored
  std::optional<bool> final_norm = {};  // adds "final_norm" at the end; default: pre_norm
  std::string name = {};
};
// Blocks "block_0", "block_1" ... one after another.
TRIREME_API Value transformer_encoder(const Value& x, TransformerOptions options,
                                      SourceLocation where = SourceLocation::current());
TRIREME_API Value transformer_decoder(const Value& x, const Value& memory,
                                      TransformerOptions options,
                                      SourceLocation where = SourceLocation::current());

}  // namespace trireme::nn
