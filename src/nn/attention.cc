#include "trireme/attention.h"

#include <cmath>
#include <string>
#include <string_view>

#include "nn/sequence.h"

namespace trireme::nn {
namespace {

// The score of a masked key. Next to any other score its exponential is exactly 0. Unlike infinity,
// it yields a finite result if all keys of a row are masked.
constexpr double kMaskedScore = -1e30;

// The number of heads of queries for each head of keys and values; 0 if the shapes do not match.
std::int64_t queries_per_key(const Value& query, const Value& key, const Value& value) {
  const int rank = query.rank();
  if (rank < 2 || key.rank() != rank || value.rank() != rank) return 0;
  if (!query.dim(-1).is_constant() || query.dim(-1) == Dim(0)) return 0;
  if (key.dim(-1) != query.dim(-1) || value.dim(-2) != key.dim(-2)) return 0;
  if (rank < 3 || query.dim(-3) == key.dim(-3)) return 1;
  const Dim &heads = query.dim(-3), &key_heads = key.dim(-3);
  if (!heads.is_constant() || !key_heads.is_constant() || key_heads == Dim(0)) return 0;
  const bool divides = heads.constant() % key_heads.constant() == 0;
  return divides && value.dim(-3) == key_heads ? heads.constant() / key_heads.constant() : 0;
}

std::int64_t checked_queries_per_key(const Value& query, const Value& key, const Value& value) {
  const std::int64_t count = queries_per_key(query, key, value);
  if (count > 0) return count;
  fail_layer("scaled_dot_product_attention",
             "query [..., query steps, width], key [..., key steps, width] and value [..., key "
             "steps, value width] do not match: " +
                 query.str() + ", " + key.str() + ", " + value.str(),
             "query and key need one constant width, and key and value one number of steps; a "
             "multiple of the heads of key is allowed for query",
             query);
}

Value causal_mask(LocationScope& at, const Shape& scores) {
  const auto positions = [&](std::size_t from_end) {
    const auto axis = static_cast<std::int64_t>(scores.size() - from_end);
    return at.make("iota", {{"axis", axis}, {"dtype", DType::i32}, {"shape", scores}});
  };
  return positions(1) <= positions(2);
}

// Broadcasts a boolean mask of padded keys to all heads and queries.
Value broadcast_key_mask(const Value& key_mask, const Value& scores) {
  require_key_mask(key_mask, scores, scores.dim(-1));
  return spread(key_mask, scores, {0, scores.rank() - 1});
}

Value masked(LocationScope& at, Value scores, const ScaledDotProductOptions& options) {
  const Shape shape = scores.shape();
  Value allowed;
  const auto allow = [&](const Value& other_mask) {
    allowed = allowed ? logical_and(allowed, other_mask) : other_mask;
  };
  if (options.causal) allow(causal_mask(at, shape));
  if (options.key_mask) allow(broadcast_key_mask(options.key_mask, scores));
  if (options.mask && options.mask.dtype() == boolean) allow(options.mask);
  if (options.mask && options.mask.dtype() != boolean) {
    scores = maximum(scores + options.mask, kMaskedScore);
  }
  if (allowed) scores = trireme::where(allowed, scores, kMaskedScore);
  if (scores.shape() != shape) {
    fail_layer(
        "scaled_dot_product_attention",
        "the mask " + options.mask.str() + " has more elements than the scores " + str(shape),
        "masks are broadcast to [batch, heads, query steps, key steps]", options.mask);
  }
  return scores;
}

// Reshapes [batch, steps, width] to [batch, heads, steps, width / heads], and back.
Value split_heads(const Value& x, std::int64_t heads) {
  return transpose(by_head(x, heads), {.permutation = {0, 2, 1, 3}});
}
Value join_heads(const Value& x) {
  return joined_heads(transpose(x, {.permutation = {0, 2, 1, 3}}));
}

}  // namespace

void require_sequence(Layer& layer, const Value& x) {
  const bool fits = x.rank() == 2 || x.rank() == 3;
  layer.require(fits && x.dim(-1).is_constant(),
                "sequences are [batch, steps, width], or rows of sequences [rows, width], with a "
                "constant width, not " +
                    x.str(),
                "reshape it, or convert images to sequences with im2sequence");
}

Value scaled_dot_product_attention(const Value& query, const Value& key, const Value& value,
                                   ScaledDotProductOptions options, SourceLocation where) {
  LocationScope at(query, "scaled_dot_product_attention", where);
  const LocationScope at_key(key, "scaled_dot_product_attention", where);
  const LocationScope at_value(value, "scaled_dot_product_attention", where);
  const std::int64_t per_key = checked_queries_per_key(query, key, value);
  const double scale = 1 / std::sqrt(static_cast<double>(query.dim(-1).constant()));
  if (options.blockwise) return attend_in_blocks(query, key, value, options, scale, per_key);
  const auto shared = [&](const Value& x) {
    return per_key == 1 ? x : shared_heads(x, x.rank() - 3, query.dim(-3).constant());
  };
  const Value scores = matmul(query, shared(key), {.transpose_b = true}) * scale;
  const Value weights = softmax(masked(at, scores, options), -1, where);
  return matmul(dropout(weights, {.rate = options.dropout}, where), shared(value));
}

namespace {

// The mask with the numbers that relative positions add to the scores.
Value with_bias(const Value& mask, const Heads& heads, const Dim& queries, const Dim& keys) {
  if (!heads.bias) return mask;
  const Value bias = heads.bias(queries, keys);
  if (!mask) return bias;
  return mask.dtype() == boolean ? trireme::where(mask, bias, kMaskedScore) : mask + bias;
}

}  // namespace

Value attend(const Value& query, const Value& key, const Value& value, const Heads& heads,
             const Value& mask, const Value& key_mask) {
  if (heads.blockwise) return attend_blockwise(query, key, value, heads, key_mask);
  const Value q = split_heads(query, heads.count), k = split_heads(key, heads.key_count);
  const Value v = split_heads(value, heads.key_count);
  return join_heads(
      scaled_dot_product_attention(q, k, v,
                                   {.mask = with_bias(mask, heads, query.dim(1), key.dim(1)),
                                    .key_mask = key_mask,
                                    .causal = heads.causal,
                                    .dropout = heads.dropout},
                                   heads.where));
}

namespace {

void check_rows(Layer& layer, const Value& query, const Value& key, const Value& value,
                const AttentionOptions& options) {
  layer.require(
      !options.mask && !options.key_mask,
      "masks are not supported for rows of sequences, because each sequence has its own length",
      "masks work on [batch, steps, width]; {.causal = true} works on both");
  layer.require(
      key.rank() == 2 && value.rank() == 2 && value.dim(0) == key.dim(0),
      "queries are rows of sequences, but keys and values are not, or have different rows: " +
          key.str() + ", " + value.str(),
      "keys and values must be [rows, width] of the same sequences");
  if (options.step == nullptr) {
    require_same_sequences(layer, query, key, options.causal);
    return;
  }
  layer.require(
      query == key && query == value,
      "a step supports only self-attention to earlier steps: query, key and value must be equal",
      "for attention to a static input, omit .step");
  layer.require(options.limit > 0, "attention in a step needs the maximum number of steps",
                "{.step = &step, .limit = 100}");
}

void check_dense(Layer& layer, const Value& key, const Value& value,
                 const AttentionOptions& options) {
  layer.require(options.step == nullptr,
                "attention in a step works row by row: x must be [active, width]");
  layer.require(key.rank() == 3 && value.rank() == 3,
                "queries are [batch, steps, width], but keys and values are not: " + key.str() +
                    ", " + value.str(),
                "sequence::pad() makes them from rows of sequences; or use rows of sequences for "
                "queries too");
}

// PyTorch has one matrix of the three projections if all their inputs have the width of the result.
// Its bias of the keys has no effect, and is not used.
void record_torch_names(Layer& layer, std::int64_t width, bool joined) {
  const char* const names[] = {"query", "key", "value"};
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::string name = names[i];
    layer.torch_module(name, "");
    const auto part = [&](const char* tensor) {
      return ir::TorchTerm{
          .tensor = tensor, .size = 3 * width, .from = i * width, .rows = width, .to = 0};
    };
    const ir::TorchTerm weight =
        joined ? part("in_proj_weight") : ir::whole(name.substr(0, 1) + "_proj_weight", width);
    layer.torch_source("/" + name + ".weight", {.terms = {weight}, .transposed = true});
    layer.torch_source("/" + name + ".bias", {.terms = {part("in_proj_bias")}});
  }
  layer.torch_module("out", "out_proj");
}

// Checks the sizes of the heads, and returns how many heads keys and values have.
std::int64_t checked_key_heads(Layer& layer, const AttentionOptions& options, std::int64_t width) {
  layer.require(options.heads > 0 && width > 0 && width % options.heads == 0,
                "a width of " + std::to_string(width) + " cannot be divided into " +
                    std::to_string(options.heads) + " heads",
                "set .heads to a divisor of the width: {.heads = 8}");
  const std::int64_t key_heads = options.key_heads == 0 ? options.heads : options.key_heads;
  layer.require(key_heads > 0 && options.heads % key_heads == 0,
                std::to_string(options.heads) + " heads of queries cannot share " +
                    std::to_string(key_heads) + " heads of keys",
                "set .key_heads to a divisor of .heads: {.heads = 8, .key_heads = 2}");
  layer.require(!options.blockwise || (!options.relative && options.dropout == 0 && !options.mask &&
                                       options.step == nullptr),
                "blockwise attention has no dropout of weights, no mask, no relative positions, "
                "and is not for steps",
                "use key_mask and causal, set .dropout = 0, or omit .blockwise");
  return key_heads;
}

// Adds what depends on positions: rotates queries and keys, and sets the bias of the scores.
class Positions {
 public:
  Positions(Layer& layer, const AttentionOptions& options, const Value& query, bool same,
            const SourceLocation& where)
      : options_(options) {
    layer.require(!options.rotary || same || query.rank() == 3,
                  "rotary positions of rows need queries and keys of the same sequences",
                  "use self-attention or [batch, steps, width]");
    if (options.step != nullptr) {
      position_ = step_position(*options.step, options.limit, where);
    }
    if (options.relative) {
      relative_.emplace(layer, *options.relative, options.heads, query.dtype(),
                        options.causal || options.step != nullptr);
    }
  }

  Value rotated(const Value& x, std::int64_t heads, const SourceLocation& where) const {
    if (!options_.rotary) return x;
    return rotary_positions(x,
                            {.heads = heads,
                             .base = options_.rotary->base,
                             .interleaved = options_.rotary->interleaved,
                             .positions = position_},
                            where);
  }
  void set_bias(Heads& heads) const {
    if (!relative_) return;
    heads.bias = [this](const Dim& queries, const Dim& keys) {
      return relative_->bias(queries, keys);
    };
  }
  StepAttention in_step() const {
    StepAttention in{*options_.step, options_.limit, position_, {}};
    if (relative_) {
      in.bias = [this](const Value& distance) {
        return relative_->bias_of(distance, options_.limit);
      };
    }
    return in;
  }

 private:
  const AttentionOptions& options_;
  Value position_;
  std::optional<RelativeBias> relative_;
};

}  // namespace

Value multi_head_attention(const Value& query, const Value& key, const Value& value,
                           AttentionOptions options, SourceLocation where) {
  const LocationScope at_key(key, "multi_head_attention", where);
  const LocationScope at_value(value, "multi_head_attention", where);
  Layer layer(query, "multi_head_attention", options.name, where);
  for (const Value& x : {query, key, value}) require_sequence(layer, x);
  const bool by_row = query.rank() == 2;
  if (by_row) check_rows(layer, query, key, value, options);
  else check_dense(layer, key, value, options);
  const std::int64_t out = query.dim(-1).constant();
  const std::int64_t width = options.width == 0 ? out : options.width;
  const std::int64_t key_heads = checked_key_heads(layer, options, width);
  const auto project = [&](const Value& x, std::int64_t units, const char* name) {
    // A bias of the keys adds one number to all scores of a query, which softmax ignores; unless
    // keys are rotated.
    const bool bias = options.bias && (std::string_view(name) != "key" || options.rotary);
    return linear(
        x, {.units = units, .bias = bias, .weight_init = options.weight_init, .name = name}, where);
  };
  Heads heads{options.heads,   key_heads, options.causal, options.blockwise,
              options.dropout, {},        where};
  const std::int64_t key_width = width / options.heads * key_heads;
  const Positions positions(layer, options, query, query == key, where);
  positions.set_bias(heads);
  const Value q = positions.rotated(project(query, width, "query"), heads.count, where);
  const Value k = positions.rotated(project(key, key_width, "key"), key_heads, where);
  const Value v = project(value, key_width, "value");
  if (width == out && key_width == width && !options.rotary && !options.relative) {
    record_torch_names(layer, width, key.dim(-1) == out && value.dim(-1) == out);
  }
  const Value attended = options.step != nullptr
                             ? attend_in_step(positions.in_step(), q, k, v, heads)
                         : by_row ? attend_ragged(q, k, v, heads)
                                  : attend(q, k, v, heads, options.mask, options.key_mask);
  return project(attended, out, "out");
}

}  // namespace trireme::nn
