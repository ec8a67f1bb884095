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
  // Computes the scores block by block and never stores them (op attention), so that memory grows
  // with the number of steps, not with its square. For long sequences. Not with `mask` or
  // `dropout`, and gradients of gradients are an error.
  bool blockwise = false;
};
// softmax(query key^T / sqrt(width)) value, for query [..., query steps, width], key [..., key
// steps, width] and value [..., key steps, value width]. A query that may attend to no key gets the
// mean of all values, or zeros if `blockwise`.
// Grouped queries (Ainslie et al. 2023): query [..., n * heads, query steps, width] for key and
// value [..., heads, steps, width], with constant heads. Head h of query attends to head h / n.
TRIREME_API Value scaled_dot_product_attention(const Value& query, const Value& key,
                                               const Value& value,
                                               ScaledDotProductOptions options = {},
                                               SourceLocation where = SourceLocation::current());

// Rotary positions (Su et al. 2021): rotates pairs of columns of each head by an angle that grows
// with the position, so that a product of queries and keys depends on their distance.
struct Rotary {
  double base = 10000;  // pair i of a head turns by base^(-2i / width of the head) per step
  // true: pairs are columns 2i and 2i + 1, as in the paper. false: columns i and i + width / 2, as
  // in the weights of GPT-NeoX and Llama.
  bool interleaved = true;
};

enum class RelativeKind : std::uint8_t {
  // One parameter for each head and bucket of distances, "relative.weight" [buckets, heads]: Raffel
  // et al. 2020, "Exploring the limits of transfer learning", section 2.1. Half of the buckets are
  // for keys before the query, unless it attends only to these. Half of those are for one distance
  // each, the others grow up to `max_distance`.
  learned,
  // Minus the distance, times 2^(-8 (h + 1) / heads) in head h, without parameters: Press et al.
  // 2022, "Train short, test long". For other numbers of heads than powers of two, slopes as in its
  // code.
  linear
};

// Positions relative to the query, as numbers that are added to the scores.
struct RelativePositions {
  RelativeKind kind = RelativeKind::learned;
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;
  Initializer weight_init = normal(0, 0.02);
};

struct AttentionOptions {
  std::int64_t heads = 0;  // required: divides width
  // Grouped queries: keys and values have this many heads, a divisor of `heads`, and heads of
  // queries share them. 0: as many as queries.
  std::int64_t key_heads = 0;
  std::int64_t width = 0;  // of queries in all heads; 0: the width of query
  double dropout = 0;      // of the weights, in training
  // As in ScaledDotProductOptions, for scores [batch, heads, query steps, key steps]: a mask [query
  // steps, key steps] is for all examples and heads, [batch, 1, query steps, key steps] for all
  // heads.
  Value mask = {}, key_mask = {};
  bool causal = false;
  bool blockwise = false;             // as in ScaledDotProductOptions; not with `relative`
  std::optional<Rotary> rotary = {};  // of queries and keys
  std::optional<RelativePositions> relative = {};
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
// width] and bias [width], or width * key_heads / heads for keys and values; "key" has no bias,
// since softmax would cancel it, unless there are rotary positions. The results of the
// heads go through the linear layer "out", weight [width, width of the query]. Self-attention is
// multi_head_attention(x, x, x, ...).
//
// Sequences of different lengths: query i of sequence s attends to the rows of sequence s of the
// keys. Queries and keys have the same number of sequences. Alternatively there is one query for
// each sequence of keys, [n, width], for example in a step whose static input is the keys. A query
// without keys gets the bias of "out". Masks are not allowed. After the projections, whole
// sequences are padded to the longest, for matrix products; single queries and blockwise attention
// are not.
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

struct RotaryPositionsOptions {
  std::int64_t heads = 1;  // that divide the columns; each has an even width
  double base = 10000;     // as in Rotary
  bool interleaved = true;
  // Integers [steps], or [rows] for rows; default: counted from 0 in each sequence.
  Value positions = {};
};
// x [batch, steps, heads * width] or rows [rows, heads * width] with rotated columns; see Rotary.
TRIREME_API Value rotary_positions(const Value& x, RotaryPositionsOptions options = {},
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
  std::int64_t key_heads = 0;     // as in AttentionOptions
  std::int64_t feed_forward = 0;  // width of the inner layer; 0: four times the width of x
  Activation activation = relu;
  double dropout = 0.1;  // of attention weights, the inner layer and all branches
  // Of attention weights; default: `dropout`, or 0 if `blockwise`.
  std::optional<double> attention_dropout = {};
  bool blockwise = false;  // as in AttentionOptions, also for the attention to `memory`
  // Of self-attention, as in AttentionOptions.
  std::optional<Rotary> rotary = {};
  std::optional<RelativePositions> relative = {};
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
