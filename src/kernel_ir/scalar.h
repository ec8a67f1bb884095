#pragma once

// What each ExprOp means for one value: the single definition that constant folding and the
// interpreter share.

#include <cstdint>

#include "kernel_ir/kernel.h"

namespace trireme::kernel_ir {

// A value of any DType: floats in `number` (an f32, bf16 or f16 is exactly representable), boolean and
// integers in `integer`, already wrapped to their type.
struct Scalar {
  std::int64_t integer = 0;
  double number = 0;
};

// Wraps to the bits of `type` (boolean, u8, i32 or i64).
std::int64_t wrap(DType type, std::int64_t value);

// The nearest float of `type` (f32, f64, bf16 or f16; the last two by way of f32).
double rounded_to(DType type, double value);

// The constant's value.
Scalar constant_of(const Expr& constant);

// Result of an op with arguments; `type` is its result type, `argument` the type of args[0] (of
// args[1] for select). Not for leaves.
Scalar evaluate(ExprOp op, DType type, DType argument, const Scalar* args);

// The start value of a reduction and one step of it: acc = reduce(acc, value). For argmin and
// argmax `step_arg` also says whether the new index is to be remembered.
Scalar identity_of(ReduceOp reduce, DType type);
Scalar reduce_step(ReduceOp reduce, DType type, Scalar accumulator, Scalar value);

// Whether argmin/argmax replaces (accumulator) by (value).
bool beats(ReduceOp reduce, DType type, Scalar value, Scalar accumulator);

}  // namespace trireme::kernel_ir
