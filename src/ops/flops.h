#pragma once

// Rules for Op::flops.

#include "ops/op.h"

namespace trireme::ops {

using FlopsRule = std::function<Dim(const ir::Op&)>;

FlopsRule no_flops();                           // the op only moves or counts elements
FlopsRule flop_per_element_of(int operand);     // one for each element of the operand
FlopsRule flops_per_result(std::int64_t each);  // `each` for each element of the result

// Returns the rule that the traits of `op` imply: one operation per element of the result of an
// elementwise op, one for each summand of a reduction, two for each product of a contraction, none
// for views and generators. Empty if the traits imply none.
FlopsRule flops_of_traits(const Op& op);

}  // namespace trireme::ops
