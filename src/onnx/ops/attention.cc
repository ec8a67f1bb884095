// Attention, positions, linear attention and gated units.

#include <cmath>
#include <limits>
#include <utility>

#include "onnx/importer.h"
#include "onnx/ops/convolutions.h"
#include "onnx/ops/operators.h"
#include "onnx/ops/slices.h"
#include "onnx/tensor.h"
#include "trireme/control.h"
#include "trireme/functions.h"
#include "trireme/indexing.h"
#include "trireme/linalg.h"
#include "trireme/nn.h"
#include "trireme/ops.h"
#include "trireme/shorthand.h"

namespace trireme::onnx {
namespace {

// [batch, steps, heads * width] as [batch, heads, steps, width].
Value with_heads(const NodeContext& n, const Value& x, std::int64_t heads) {
  if (x.rank() == 4) return x;
  const std::optional<Dim> width = heads > 0 ? x.dim(2).divided_by(Dim(heads)) : std::nullopt;
  n.require(x.rank() == 3 && width,
            "it divides " + x.str() + " among " + std::to_string(heads) + " heads");
  return transpose(reshape(x, {.shape = {x.dim(0), x.dim(1), heads, *width}}),
                   {.permutation = {0, 2, 1, 3}});
}

Value without_heads(const Value& x) {
  return reshape(transpose(x, {.permutation = {0, 2, 1, 3}}),
                 {.shape = {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)}});
}

// Heads of keys and values that several heads of queries share.
Value repeated(const NodeContext& n, const Value& x, const Dim& heads) {
  if (x.dim(1) == heads) return x;
  const std::optional<Dim> times = heads.divided_by(x.dim(1));
  n.require(times && times->is_constant(),
            "its queries have " + heads.str() + " heads, and its keys " + x.dim(1).str());
  return repeat_interleave(x, times->constant(), 1);
}

struct Scores {
  Value query, key;              // [batch, heads, steps, width]
  std::optional<Value> past;     // as keys
  std::optional<Value> lengths;  // i64[batch]: keys that are no padding
};

// The absolute place of each query minus that of each key: [queries, keys], or with lengths
// [batch, 1, queries, keys].
Value distances(NodeContext& n, const Scores& s) {
  const Shape shape = {s.query.dim(2), s.key.dim(2)};
  const auto at = [&](int axis) { return iota(n.program(), {.shape = shape, .axis = axis}); };
  const Value distance = at(0) - at(1);
  if (s.past) return distance + dim_size(*s.past, {.axes = {2}, .dtype = i64});
  if (!s.lengths) return distance;
  const Value first = *s.lengths - dim_size(s.query, {.axes = {2}, .dtype = i64});
  return distance + reshape(first, {.shape = {s.lengths->dim(0), 1, 1, 1}});
}

// What is added to the scores: 0 and numbers of the mask, or -infinity where a query may not
// attend. Empty if all may.
std::optional<Value> bias_of(NodeContext& n, const Scores& s) {
  const DType dtype = s.query.dtype();
  std::optional<Value> bias;
  const auto add = [&](const Value& more) { bias = bias ? *bias + more : more; };
  const auto allow = [&](const Value& allowed) {
    const Value zero = cast(allowed, {.dtype = dtype}) * 0.0;
    add(where(allowed, zero, -kInfinity));
  };
  if (n.has(3)) {
    Value mask = n.value(3);
    if (mask.dtype() != boolean && mask.dtype() != dtype) mask = cast(mask, {.dtype = dtype});
    if (!(mask.dim(-1) == s.key.dim(2))) {
      Shape low(static_cast<std::size_t>(mask.rank()), Dim(0)), high = low;
      high.back() = s.key.dim(2) - mask.dim(-1);
      mask =
          pad(mask, {.low = low, .high = high, .value = mask.dtype() == boolean ? 0 : -kInfinity});
    }
    if (mask.dtype() == boolean) allow(mask);
    else add(mask);
  }
  if (n.integer("is_causal", 0) != 0) allow(distances(n, s) >= 0.0);
  const std::int64_t left = n.integer("left_window_size", -1),
                     right = n.integer("right_window_size", -1);
  if (left >= 0) allow(less_equal(distances(n, s), static_cast<double>(left)));
  if (right >= 0) allow(distances(n, s) >= static_cast<double>(-right));
  if (s.lengths) {
    const Value at = arange(n.program(), s.key.dim(2));
    allow(less(reshape(at, {.shape = {1, 1, 1, s.key.dim(2)}}),
               reshape(*s.lengths, {.shape = {s.lengths->dim(0), 1, 1, 1}})));
  }
  return bias;
}

// softmax, and zeros where no key is allowed.
Value weights_of(const Value& scores, const std::optional<Value>& bias) {
  const Value weights = trireme::softmax(scores, -1);
  if (!bias) return weights;
  const Value none = equal(reduce_max(*bias, {.axes = {-1}, .keep = true}), -kInfinity);
  return where(none, 0.0, weights);
}

void import_attention(NodeContext& n) {
  const Value given = n.value(0);
  const std::int64_t query_heads = n.integer("q_num_heads", 0),
                     key_heads = n.integer("kv_num_heads", 0);
  Scores s{with_heads(n, given, query_heads), with_heads(n, n.value(1), key_heads), {}, {}};
  Value values = with_heads(n, n.value(2), key_heads);
  if (n.has(4)) {
    s.past = n.value(4);
    s.key = concat({*s.past, s.key}, {.axis = 2});
    values = concat({n.value(5), values}, {.axis = 2});
  }
  if (n.has(6)) s.lengths = cast(n.value(6), {.dtype = i64});
  n.set(1, s.key);
  n.set(2, values);
  n.require(s.query.dim(3).is_constant(), "its queries have the width " + s.query.dim(3).str());
  const double scale = n.attribute("scale") != nullptr
                           ? n.number("scale", 1)
                           : 1 / std::sqrt(static_cast<double>(s.query.dim(3).constant()));
  const Value key = repeated(n, s.key, s.query.dim(1));
  Value scores = matmul(s.query * std::sqrt(scale), key * std::sqrt(scale), {.transpose_b = true});
  const std::int64_t mode = n.integer("qk_matmul_output_mode", 0);
  if (mode == 0) n.set(3, scores);
  if (const double cap = n.number("softcap", 0); cap > 0) scores = tanh(scores / cap) * cap;
  if (mode == 1) n.set(3, scores);
  const std::optional<Value> bias = bias_of(n, s);
  if (bias) scores = scores + *bias;
  if (mode == 2) n.set(3, scores);
  const Value weights = weights_of(scores, bias);
  if (mode == 3) n.set(3, weights);
  const Value y = matmul(weights, repeated(n, values, s.query.dim(1)));
  n.set(0, given.rank() == 3 ? without_heads(y) : y);
}

// Pairs of elements are turned by the angles whose cosines and sines are given: those of the two
// halves, or neighbours if `interleaved`.
void import_rotary(NodeContext& n) {
  const Value given = n.value(0);
  const std::int64_t heads = n.integer("num_heads", 0);
  const Value x = with_heads(n, given, heads);  // [batch, heads, steps, width]
  n.require(x.dim(3).is_constant(), "its heads have the width " + x.dim(3).str());
  const std::int64_t width = x.dim(3).constant();
  std::int64_t turned = n.integer("rotary_embedding_dim", 0);
  if (turned == 0) turned = width;
  Value cosine = n.value(1), sine = n.value(2);
  if (n.has(3)) {
    const Value places = cast(n.value(3), {.dtype = i64});
    cosine = gather(cosine, places);
    sine = gather(sine, places);
  }
  cosine = unsqueeze(cosine, 1);
  sine = unsqueeze(sine, 1);
  const bool interleaved = n.integer("interleaved", 0) != 0;
  const Value part = part_of(x, 3, 0, turned);
  Value first, second;
  if (interleaved) {
    const Value pairs = reshape(part, {.shape = {x.dim(0), x.dim(1), x.dim(2), turned / 2, 2}});
    first = squeeze(part_of(pairs, 4, 0, 1), {4});
    second = squeeze(part_of(pairs, 4, 1, 2), {4});
  } else {
    first = part_of(part, 3, 0, turned / 2);
    second = part_of(part, 3, turned / 2, turned);
  }
  const Value real = cosine * first - sine * second, imaginary = sine * first + cosine * second;
  Value y = interleaved ? reshape(stack({real, imaginary}, 4), {.shape = part.shape()})
                        : concat({real, imaginary}, {.axis = 3});
  if (turned < width) y = concat({y, part_of(x, 3, turned, width)}, {.axis = 3});
  n.set(0, given.rank() == 3 ? without_heads(y) : y);
}

// A state [batch, heads, key width, value width] is read by queries and written by keys and values,
// step by step.
void import_linear_attention(NodeContext& n) {
  const std::int64_t query_heads = n.integer("q_num_heads"), heads = n.integer("kv_num_heads");
  const std::string rule = n.text("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  n.require(gated || delta || rule == "linear", "its update_rule is \"" + rule + "\"");
  const auto by_step = [&](std::size_t i, std::int64_t count) {  // [steps, batch, heads, width]
    return transpose(with_heads(n, n.value(i), count), {.permutation = {2, 0, 1, 3}});
  };
  const Value query = by_step(0, query_heads), key = by_step(1, heads), value = by_step(2, heads);
  Values rows = {query, key, value};
  if (gated) rows.push_back(by_step(4, heads));
  if (delta) rows.push_back(by_step(5, n.shape(5)[2] == Dim(1) ? 1 : heads));
  n.require(key.dim(3).is_constant(), "its keys have the width " + key.dim(3).str());
  double scale = n.number("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(key.dim(3).constant()));
  const Value initial =
      n.has(3) ? n.value(3)
               : constant(n.program(), {.value = 0,
                                        .dtype = query.dtype(),
                                        .shape = {key.dim(1), heads, key.dim(3), value.dim(3)}});
  const ScanResult result = scan(
      {initial}, rows,
      [&](const Values& carried, const Values& row) {
        Value state = carried[0], v = row[2];
        if (gated) state = state * unsqueeze(exp(row[3]), 3);
        if (delta) {
          const Value read = sum(state * unsqueeze(row[1], 3), {.axes = {2}});
          v = row[gated ? 4 : 3] * (v - read);
        }
        state = state + unsqueeze(row[1], 3) * unsqueeze(v, 2);
        const Value wide = repeated(n, state, Dim(query_heads));
        return ScanStep{{state}, {sum(wide * unsqueeze(row[0], 3), {.axes = {2}}) * scale}};
      },
      {}, SourceLocation());
  n.set(0, without_heads(transpose(result.outputs[0], {.permutation = {1, 2, 0, 3}})));
  n.set(1, result.carried[0]);
}

// A convolution of each channel over the steps up to each step; the state is the last steps.
void import_causal_conv(NodeContext& n) {
  const Value x = n.value(0), weight = n.value(1);
  n.require(weight.rank() == 3 && weight.dim(2).is_constant() && x.dim(1).is_constant(),
            "its weight is " + weight.str());
  const std::int64_t kernel = weight.dim(2).constant();
  const Value past =
      n.has(3)
          ? n.value(3)
          : constant(n.program(),
                     {.value = 0, .dtype = x.dtype(), .shape = {x.dim(0), x.dim(1), kernel - 1}});
  const Value all = concat({past, x}, {.axis = 2});
  const Windows windows{{kernel}, {1}, {1}, {0}, {0}, {}};
  Value y = convolution(n, all, weight, windows, x.dim(1).constant());
  if (n.has(2)) y = y + reshape(n.value(2), {.shape = {1, x.dim(1), 1}});
  const std::string activation = n.text("activation", "none");
  if (activation != "none") y = y * sigmoid(y);
  n.set(0, y);
  n.set(1, part_of(all, 2, all.dim(2) - (kernel - 1), all.dim(2)));
}

void import_swiglu(NodeContext& n) {
  const Value a = n.value(0);
  n.set(0, a * sigmoid(a * n.number("alpha", 1)) * n.value(1));
}

// Attention whose scores and weights graphs change.
void import_flex_attention(NodeContext& n) {
  const Value query = n.value(0);
  n.require(query.rank() == 4 && query.dim(3).is_constant(), "its queries are " + query.str());
  const Value key = repeated(n, n.value(1), query.dim(1)),
              values = repeated(n, n.value(2), query.dim(1));
  const double scale = n.attribute("scale") != nullptr
                           ? n.number("scale", 1)
                           : 1 / std::sqrt(static_cast<double>(query.dim(3).constant()));
  const auto changed = [&](const char* graph, const Value& x) {
    const AttributeProto* a = n.attribute(graph);
    if (a == nullptr || !a->g) return x;
    Item item;
    item.type = element_type_of(x.dtype());
    item.value = x;
    const Value y = n.importer().value_of(n.importer().graph(*a->g, {item}).at(0));
    return y.dtype() == x.dtype() ? y : cast(y, {.dtype = x.dtype()});
  };
  const Value scores =
      matmul(query * std::sqrt(scale), key * std::sqrt(scale), {.transpose_b = true});
  const Value weights = changed("prob_mod", trireme::softmax(changed("score_mod", scores), -1));
  n.set(0, matmul(weights, values));
}

constexpr Operator kAttentionOperators[] = {
    {"", "Attention", import_attention},
    {"ai.onnx.preview", "FlexAttention", import_flex_attention},
    {"", "CausalConvWithState", import_causal_conv},
    {"", "LinearAttention", import_linear_attention},
    {"", "RotaryEmbedding", import_rotary},
    {"", "SwiGLU", import_swiglu},
};

}  // namespace

Operators attention_operators() { return kAttentionOperators; }

}  // namespace trireme::onnx
