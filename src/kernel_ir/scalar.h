#pragma once

// The semantics of each ExprOp for one value. Constant folding and the interpreter share this
// definition.

#include <cstdint>

#include "kernel_ir/kernel.h"

namespace trireme::kernel_ir {

// A value of any DType: a float in `number` (f32, bf16 and f16 are exact there), a boolean or
// integer in `integer`, wrapped to its type; a u64 as its bits.
struct Scalar {
  std::int64_t integer = 0;
  double number = 0;
};

// Wraps to the bits of `type`, a boolean or an integer.
std::int64_t wrap(DType type, std::int64_t value);

// The nearest float of `type` (f32, f64, bf16 or f16; the last two by way of f32).
double rounded_to(DType type, double value);

// The constant's value.
Scalar constant_of(const Expr& constant);

// Result of an op with arguments; `type` is its result type, `argument` the type of args[0] (of
// args[1] for select). Not for leaves.
Scalar evaluate(ExprOp op, DType type, DType argument, const Scalar* args);

// The identity of a reduction and one step of it: acc = reduce(acc, value). For argmin and argmax,
// `step_arg` also returns whether the new index replaces the old one.
Scalar identity_of(ReduceOp reduce, DType type);
Scalar reduce_step(ReduceOp reduce, DType type, Scalar accumulator, Scalar value);

// Returns whether argmin or argmax replaces the accumulator by the value.
bool beats(ReduceOp reduce, DType type, Scalar value, Scalar accumulator);

}  // namespace trireme::kernel_ir
