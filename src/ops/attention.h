#pragma once

// Common code of attention and attention_gradient, which read queries, keys, values and, after
// their other operands, how these belong together.

#include <cstdint>
#include <functional>
#include <vector>

#include "ops/common.h"

namespace trireme::ops {

// Checks the queries, keys and values of `c`, and the optional operands from `others` on. TypeError
// if they do not match.
void check_attention(const TypeContext& c, std::size_t others);

// Returns the type of y, or without `width` that of one number for each query and head.
Type attention_type(const TypeContext& c, bool width);

// Operations for `products` matrix products of queries and keys, and as many of values. For rows of
// sequences as if they were one sequence.
Dim attention_flops(const ir::Op& op, std::int64_t products);

// One query of one head, and the keys that it may attend to, for reference loops.
struct AttentionQuery {
  std::int64_t row, head;          // of the queries
  std::int64_t key_head;           // the head of keys that it reads
  std::vector<std::int64_t> keys;  // their rows
};
// Calls `visit` for each query of each head. Rows of dense tensors are counted over all examples.
void for_each_query(const Reference& r, std::size_t others,
                    const std::function<void(const AttentionQuery&)>& visit);

// Element [row, head, column] of a tensor; of a tensor without columns if `column` is -1.
double& attention_at(RefTensor& x, std::int64_t row, std::int64_t head, std::int64_t column);
double attention_at(const RefTensor& x, std::int64_t row, std::int64_t head, std::int64_t column);
// The scores of a query, one for each of its keys.
std::vector<double> attention_scores(const Reference& r, const AttentionQuery& query);

// Samples of attention. `gradient`: with the operands log_sums, gradient and shift.
std::vector<Sample> attention_samples(bool gradient);

}  // namespace trireme::ops
