#pragma once

// Random numbers as kernel IR, bit for bit those that base/philox.h makes on the host (for
// references and initializers).

#include <array>
#include <cstdint>

#include "base/philox.h"
#include "ops/op.h"

namespace trireme::ops {

using trireme::random_word;
using trireme::random_words;

// What base/philox.h makes with as many random bits as the type holds.
double uniform_number(const PhiloxWords& words, DType dtype);
double normal_number(const PhiloxWords& words, DType dtype);
// Words below it are successes of a Bernoulli trial: probability * 2^32, between 0 and 2^32.
std::int64_t bernoulli_threshold(double probability);

// As kernel IR. Words are i64 expressions in [0, 2^32), of the result's element at l.index().
using PhiloxExprs = std::array<ExprId, 4>;
PhiloxExprs random_words(Lowering& l, std::int64_t stream);
ExprId random_word(Lowering& l, std::int64_t stream);
ExprId uniform_number(kernel_ir::Builder& k, const PhiloxExprs& words, DType dtype);
ExprId normal_number(kernel_ir::Builder& k, const PhiloxExprs& words, DType dtype);

}  // namespace trireme::ops
