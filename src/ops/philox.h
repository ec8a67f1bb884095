#pragma once

// Random numbers in kernel IR. They are bit for bit equal to those that base/philox.h computes on
// the host for references and initializers.

#include <array>
#include <cstdint>

#include "base/philox.h"
#include "ops/common.h"

namespace trireme::ops {

using trireme::random_word;
using trireme::random_words;

// The type rule of ops that have the attributes dtype, shape and stream.
TypeRule random_type(Numbers numbers);
// Gives a call without `stream` a stream of its own, by its layer and its number there. So the
// numbers stay the same when ops in other layers are added.
void choose_stream(ir::Builder& builder, std::string_view op, Attributes& attributes);

// The numbers of base/philox.h with as many random bits as the type holds.
double uniform_number(const PhiloxWords& words, DType dtype);
double normal_number(const PhiloxWords& words, DType dtype);
// Random words below the threshold are successes of a Bernoulli trial: probability * 2^32, in [0,
// 2^32].
std::int64_t bernoulli_threshold(double probability);

// The same in kernel IR. Words are i64 expressions in [0, 2^32) for the element at l.index().
using PhiloxExprs = std::array<ExprId, 4>;
PhiloxExprs random_words(Lowering& l, std::int64_t stream);
ExprId random_word(Lowering& l, std::int64_t stream);
ExprId uniform_number(kernel_ir::Builder& k, const PhiloxExprs& words, DType dtype);
ExprId normal_number(kernel_ir::Builder& k, const PhiloxExprs& words, DType dtype);

}  // namespace trireme::ops
