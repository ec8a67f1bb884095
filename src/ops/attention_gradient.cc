#include <cmath>

#include "ops/attention.h"

namespace trireme::ops {
namespace {

constexpr std::size_t kOthers = 6;

void attention_gradient_reference(const Reference& r) {
  const RefTensor &query = *r.operands[0], &key = *r.operands[1], &value = *r.operands[2];
  const RefTensor& dy = *r.operands[4];
  const double scale = get_attribute<double>(r.op.attributes, "scale");
  for_each_query(r, kOthers, [&](const AttentionQuery& q) {
    const double log_sum = attention_at(*r.operands[3], q.row, q.head, -1);
    const double shift = attention_at(*r.operands[5], q.row, q.head, -1);
    const std::vector<double> scores = attention_scores(r, q);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const std::int64_t k = q.keys[i];
      const double weight = std::exp(scores[i] - log_sum);
      double dweight = 0;
      for (std::int64_t j = 0; j < value.shape.back(); ++j) {
        const double dyj = attention_at(dy, q.row, q.head, j);
        dweight += dyj * attention_at(value, k, q.key_head, j);
        attention_at(*r.results[2], k, q.key_head, j) += weight * dyj;
      }
      const double dscore = weight * (dweight - shift) * scale;
      for (std::int64_t j = 0; j < query.shape.back(); ++j) {
        attention_at(*r.results[0], q.row, q.head, j) +=
            dscore * attention_at(key, k, q.key_head, j);
        attention_at(*r.results[1], k, q.key_head, j) +=
            dscore * attention_at(query, q.row, q.head, j);
      }
    }
  });
}

}  // namespace

Op attention_gradient() {
  Op op(
      "attention_gradient(query, key, value, log_sums, gradient, shift, others...; causal: bool = "
      "false, scale: float = 1.0) -> dquery, dkey, dvalue");
  op.doc =
      "The gradients of attention() with respect to queries, keys and values.\n"
      "`gradient` is that of y.\n"
      "`shift` is the sum of y * gradient over the width, less the gradient of log_sums, [..., "
      "heads].\n"
      "The other operands are those of attention(), and its result log_sums.\n"
      "The weights are computed again, block by block: exp(scores - log_sums).\n"
      "It is not differentiable.";
  op.traits = Trait::library | Trait::sequences;
  op.no_gradient_reason =
      "attention without the matrix of scores is differentiated only once; compose it of matmul "
      "and softmax for more";
  op.type = [](const TypeContext& c) {
    check_attention(c, kOthers);
    const Type of_y = attention_type(c, true), of_query = attention_type(c, false);
    require(c.operands[3] == of_query && c.operands[4] == of_y && c.operands[5] == of_query,
            "log_sums, gradient and shift do not have the shapes of attention's results: " +
                c.operand_texts[3] + ", " + c.operand_texts[4] + ", " + c.operand_texts[5]);
    return std::vector<Type>{c.operands[0], c.operands[1], c.operands[2]};
  };
  op.flops = [](const ir::Op& o) { return attention_flops(o, 3); };
  op.library_kernel = "attention_gradient";
  op.reference = attention_gradient_reference;
  op.torch_reference = "formulas.attention_gradient(x, causal, scale)";
  op.samples = attention_samples(true);
  return op;
}

}  // namespace trireme::ops
