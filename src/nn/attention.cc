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

void check_operands(const Value& query, const Value& key, const Value& value) {
  const bool ranks = query.rank() >= 2 && key.rank() == query.rank() && value.rank() == key.rank();
  if (ranks && query.dim(-1).is_constant() && query.dim(-1) != Dim(0) &&
      key.dim(-1) == query.dim(-1) && value.dim(-2) == key.dim(-2)) {
    return;
  }
  fail_layer("scaled_dot_product_attention",
             "query [..., query steps, width], key [..., key steps, width] and value [..., key "
             "steps, value width] do not match: " +
                 query.str() + ", " + key.str() + ", " + value.str(),
             "query and key need one constant width, and key and value one number of steps", query);
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
  const Shape expected{scores.dim(0), scores.dim(-1)};
  if (scores.rank() < 3 || key_mask.dtype() != boolean || key_mask.shape() != expected) {
    fail_layer("scaled_dot_product_attention",
               "key_mask must be boolean [batch, key steps], but is " + key_mask.str(),
               "the scores are " + str(scores.shape()), key_mask);
  }
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
  const Shape split_shape{x.dim(0), x.dim(1), heads, x.dim(2).constant() / heads};
  return transpose(reshape(x, {.shape = split_shape}), {.permutation = {0, 2, 1, 3}});
}
Value join_heads(const Value& x) {
  const Value ordered = transpose(x, {.permutation = {0, 2, 1, 3}});
  return reshape(ordered, {.shape = {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)}});
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
  check_operands(query, key, value);
  const double scale = 1 / std::sqrt(static_cast<double>(query.dim(-1).constant()));
  const Value scores = matmul(query, key, {.transpose_b = true}) * scale;
  const Value weights = softmax(masked(at, scores, options), -1, where);
  return matmul(dropout(weights, {.rate = options.dropout}, where), value);
}

Value attend(const Value& query, const Value& key, const Value& value, const Heads& heads,
             const Value& mask, const Value& key_mask) {
  const Value q = split_heads(query, heads.count), k = split_heads(key, heads.count);
  const Value v = split_heads(value, heads.count);
  return join_heads(scaled_dot_product_attention(
      q, k, v,
      {.mask = mask, .key_mask = key_mask, .causal = heads.causal, .dropout = heads.dropout},
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
  layer.require(options.heads > 0 && width > 0 && width % options.heads == 0,
                "a width of " + std::to_string(width) + " cannot be divided into " +
                    std::to_string(options.heads) + " heads",
                "set .heads to a divisor of the width: {.heads = 8}");
  const auto project = [&](const Value& x, std::int64_t units, const char* name) {
    // A bias of the keys adds one number to all scores of a query, which softmax ignores.
    const bool bias = options.bias && std::string_view(name) != "key";
    return linear(
        x, {.units = units, .bias = bias, .weight_init = options.weight_init, .name = name}, where);
  };
  const Heads heads{options.heads, options.causal, options.dropout, where};
  const Value q = project(query, width, "query"), k = project(key, width, "key");
  const Value v = project(value, width, "value");
  if (width == out) record_torch_names(layer, width, key.dim(-1) == out && value.dim(-1) == out);
  const Value attended = options.step != nullptr
                             ? attend_in_step(*options.step, options.limit, q, k, v, heads)
                         : by_row ? attend_ragged(q, k, v, heads)
                                  : attend(q, k, v, heads, options.mask, options.key_mask);
  return project(attended, out, "out");
}

}  // namespace trireme::nn
