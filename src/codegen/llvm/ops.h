#pragma once

// The meaning of each ExprOp in LLVM instructions, on scalars or on vectors alike. Private to this
// folder; includes LLVM.

#include <llvm/IR/IRBuilder.h>

#include "kernel_ir/kernel.h"

namespace trireme::codegen {

using IrBuilder = llvm::IRBuilder<>;

// A type as it is held in registers (boolean is i1) and in memory (boolean is i8). bf16 and f16 are
// i16 in both: LLVM's own types of these names would call library functions on some targets.
llvm::Type* register_type(llvm::LLVMContext& context, DType type);
llvm::Type* memory_type(llvm::LLVMContext& context, DType type);
llvm::Type* with_lanes(llvm::Type* type, unsigned lanes);  // lanes 0: the scalar type itself

llvm::Value* to_register(IrBuilder& b, DType type, llvm::Value* from_memory);
llvm::Value* to_memory(IrBuilder& b, DType type, llvm::Value* from_register);

llvm::Constant* scalar_constant(llvm::LLVMContext& context, const kernel_ir::Expr& constant);

// `e` with the arguments already computed, all scalars or all vectors of one length. `argument` is
// the type of args[0] (of args[1] for select). Not for leaves.
llvm::Value* emit_op(IrBuilder& b, const kernel_ir::Expr& e, DType argument,
                     llvm::Value* const* args);

// What a target has instructions for, besides what every target has.
struct Instructions {
  bool f16 = false;        // conversion of f16
  bool dot4_256 = false;   // x86: vpdpbusd of up to 256 bits
  bool dot4_512 = false;   // and of 512
  int pair_sum_bytes = 0;  // x86: the largest vector of vpmaddwd
  bool dot4_neon = false;  // sdot
};

// Returns accumulator + dot4 of `words` and `signed_words`, scalars or vectors of i32.
// is_unsigned: the bytes of `words` are.
llvm::Value* emit_dot4(IrBuilder& b, const Instructions& target, llvm::Value* accumulator,
                       llvm::Value* words, llvm::Value* signed_words, bool is_unsigned);

// Returns accumulator + dot2 of two words, scalars or vectors of i32.
llvm::Value* emit_dot2(IrBuilder& b, const Instructions& target, llvm::Value* accumulator,
                       llvm::Value* x, llvm::Value* y);

// Returns a cast between f32 and bf16 or f16. `f16_instructions`: the target has instructions for
// f16. Otherwise, and for bf16, arithmetic on the bits computes it.
llvm::Value* emit_half_cast(IrBuilder& b, DType to, DType from, llvm::Value* x,
                            bool f16_instructions);

// Returns x / y or x % y of i64 vectors in [0, 2^52), much faster than lane by lane.
llvm::Value* emit_index_division(IrBuilder& b, bool quotient, llvm::Value* x, llvm::Value* y);

// One step or the combination of partial results of sum, prod, min and max.
llvm::Value* emit_reduce(IrBuilder& b, kernel_ir::ReduceOp reduce, DType type,
                         llvm::Value* accumulator, llvm::Value* value);

// Returns whether value replaces accumulator in argmin or argmax.
llvm::Value* emit_beats(IrBuilder& b, kernel_ir::ReduceOp reduce, DType type, llvm::Value* value,
                        llvm::Value* accumulator);

}  // namespace trireme::codegen
