#include "ops/attention.h"

#include <cmath>
#include <limits>

namespace trireme::ops {
namespace {

constexpr std::size_t kOthers = 3;

void attention_reference(const Reference& r) {
  for_each_query(r, kOthers, [&](const AttentionQuery& q) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    const std::vector<double> scores = attention_scores(r, q);
    for (const double score : scores) largest = std::fmax(largest, score);
    const double shift = std::isinf(largest) && largest < 0 ? 0 : largest;
    for (const double score : scores) sum += std::exp(score - shift);
    attention_at(*r.results[1], q.row, q.head, -1) = shift + std::log(sum);
    if (sum == 0) return;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double weight = std::exp(scores[i] - shift) / sum;
      for (std::int64_t j = 0; j < r.operands[2]->shape.back(); ++j) {
        attention_at(*r.results[0], q.row, q.head, j) +=
            weight * attention_at(*r.operands[2], q.keys[i], q.key_head, j);
      }
    }
  });
}

// With weights P = softmax of the scores S: dS = P * (dP - sum of y * dy + d log_sums).
void attention_gradient_rule(GradientContext& c) {
  if (!c.needs_gradient(0) && !c.needs_gradient(1) && !c.needs_gradient(2)) return;
  std::vector<Value> others;
  for (int i = 3; i < static_cast<int>(c.op().operands.size()); ++i) {
    others.push_back(c.operand(i));
  }
  const Value dy = c.gradient(0);
  Value shift = sum(c.result(0) * dy, {.axes = {dy.rank() - 1}});
  if (c.has_gradient(1)) shift = shift - c.gradient(1);
  const std::vector<Value> gradients =
      attention_gradient(c.operand(0), c.operand(1), c.operand(2), c.result(1), dy, shift, others,
                         {.causal = get_attribute<bool>(c.op().attributes, "causal"),
                          .scale = get_attribute<double>(c.op().attributes, "scale")});
  for (int i = 0; i < 3; ++i) c.accumulate(i, gradients[static_cast<std::size_t>(i)]);
}

}  // namespace

Op attention() {
  Op op(
      "attention(query, key, value, others...; causal: bool = false, scale: float = 1.0) -> y, "
      "log_sums");
  op.doc =
      "softmax(query key^T * scale) value, without storing the matrix of scores.\n"
      "Memory grows with the length of the sequences, not with its square.\n"
      "Dense tensors are [batch, steps, heads, width], all f32 or all f64.\n"
      "`others` is then nothing, or boolean [batch, keys], true for keys that are used.\n"
      "Rows of sequences are [rows, heads, width].\n"
      "`others` is then the splits of the queries and the splits of the keys.\n"
      "Queries may have n times as many heads as keys and values.\n"
      "Head h of the queries then reads head h / n of the keys (Ainslie et al. 2023).\n"
      "With `causal`, query i attends to keys 0 to i of its sequence.\n"
      "The result y is [..., heads, width of the values].\n"
      "`log_sums` is the logarithm of the sum of the exponentials of the scores, [..., heads].\n"
      "A query without keys, or with scores of -infinity only, has y 0 and log_sums -infinity.\n"
      "Keys and values must be finite, even where a query may not attend to them.\n"
      "Source: Dao 2023, \"FlashAttention-2\".";
  op.traits = Trait::library | Trait::sequences;
  op.type = [](const TypeContext& c) {
    check_attention(c, kOthers);
    return std::vector<Type>{attention_type(c, true), attention_type(c, false)};
  };
  op.flops = [](const ir::Op& o) { return attention_flops(o, 1); };
  op.library_kernel = "attention";
  op.reference = attention_reference;
  op.gradient = attention_gradient_rule;
  op.torch_reference = "formulas.attention(x, causal, scale)";
  op.samples = attention_samples(false);
  return op;
}

}  // namespace trireme::ops
