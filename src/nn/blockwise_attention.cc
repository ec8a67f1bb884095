// Attention that never stores its matrix of scores, and heads that share keys.

#include <cmath>

#include "nn/sequence.h"
#include "nn/sequences.h"
#include "trireme/attention.h"
#include "trireme/functions.h"

namespace trireme::nn {

Value by_head(const Value& x, std::int64_t heads) {
  Shape shape = x.shape();
  const std::int64_t width = shape.back().constant();
  shape.back() = heads;
  shape.emplace_back(width / heads);
  return reshape(x, {.shape = shape});
}

Value joined_heads(const Value& x) {
  Shape shape = x.shape();
  const Dim width = shape.back();
  shape.pop_back();
  shape.back() = shape.back() * width;
  return reshape(x, {.shape = shape});
}

Value shared_heads(const Value& x, int axis, std::int64_t count) {
  const auto place = static_cast<std::size_t>(axis);
  const Dim heads = x.dim(axis);
  if (heads == Dim(count)) return x;
  Shape shape = x.shape();
  shape.insert(shape.begin() + axis + 1, count / heads.constant());
  std::vector<std::int64_t> kept = axes_but(axis + 1, x.rank() + 1);
  const Value repeated = broadcast(x, {.shape = shape, .axes = kept});
  shape.erase(shape.begin() + axis);
  shape[place] = count;
  return reshape(repeated, {.shape = shape});
}

void require_key_mask(const Value& key_mask, const Value& like, const Dim& steps) {
  const bool fits = like.rank() >= 3 && key_mask.dtype() == boolean;
  if (fits && key_mask.shape() == Shape{like.dim(0), steps}) return;
  fail_layer("scaled_dot_product_attention",
             "key_mask must be boolean [batch, key steps], but is " + key_mask.str(),
             "there are " + steps.str() + " key steps, and the batch is " + like.dim(0).str(),
             key_mask);
}

Value attend_blockwise(const Value& query, const Value& key, const Value& value, const Heads& heads,
                       const Value& key_mask) {
  const Value q = by_head(query, heads.count), k = by_head(key, heads.key_count);
  std::vector<Value> others;
  if (query.rank() == 2) others = {splits_of("attention", query), splits_of("attention", key)};
  else if (key_mask) others = {key_mask};
  const double scale = 1 / std::sqrt(static_cast<double>(q.dim(-1).constant()));
  const Value v = by_head(value, heads.key_count);
  return joined_heads(
      attention(q, k, v, others, {.causal = heads.causal, .scale = scale}, heads.where).front());
}

Value attend_in_blocks(const Value& query, const Value& key, const Value& value,
                       const ScaledDotProductOptions& options, double scale, std::int64_t per_key) {
  if (options.mask || options.dropout != 0) {
    fail_layer("scaled_dot_product_attention",
               "blockwise attention has no mask and no dropout of weights",
               "use key_mask and causal, or omit .blockwise", query);
  }
  const Dim count = product(Shape(key.shape().begin(), key.shape().end() - 2));
  const auto as_example = [&](const Value& x, std::int64_t heads) {
    const Value stacked = reshape(x, {.shape = {count, heads, x.dim(-2), x.dim(-1)}});
    return transpose(stacked, {.permutation = {0, 2, 1, 3}});
  };
  std::vector<Value> others;
  if (options.key_mask) {
    require_key_mask(options.key_mask, key, key.dim(-2));
    const Shape all(key.shape().begin(), key.shape().end() - 1);
    const Value used = broadcast(options.key_mask, {.shape = all, .axes = {0, key.rank() - 2}});
    others = {reshape(used, {.shape = {count, key.dim(-2)}})};
  }
  const Value y = attention(as_example(query, per_key), as_example(key, 1), as_example(value, 1),
                            others, {.causal = options.causal, .scale = scale})
                      .front();
  Shape shape = query.shape();
  shape.back() = value.dim(-1);
  return reshape(transpose(y, {.permutation = {0, 2, 1, 3}}), {.shape = shape});
}

}  // namespace trireme::nn
