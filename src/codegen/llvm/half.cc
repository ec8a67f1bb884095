// Casts between f32 and the 16-bit floats, which are held as integers.

#include "base/error.h"
#include "codegen/llvm/ops.h"

namespace trireme::codegen {
namespace {

using llvm::Value;

// The steps below on scalars or vectors of any length.
class Bits {
 public:
  Bits(IrBuilder& b, Value* x) : b_(b) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
    lanes_ = vector == nullptr ? 0 : vector->getNumElements();
  }

  llvm::Type* i16() { return with_lanes(b_.getInt16Ty(), lanes_); }
  llvm::Type* i32() { return with_lanes(b_.getInt32Ty(), lanes_); }
  llvm::Type* f16() { return with_lanes(b_.getHalfTy(), lanes_); }
  llvm::Type* f32() { return with_lanes(b_.getFloatTy(), lanes_); }
  Value* number(std::uint32_t value) { return llvm::ConstantInt::get(i32(), value); }
  Value* f32_number(float value) { return llvm::ConstantFP::get(f32(), value); }

  // bits + half a last bit of what is kept, to even: without its lower `drop` bits then.
  Value* rounded(Value* bits, unsigned drop) {
    Value* odd = b_.CreateAnd(b_.CreateLShr(bits, drop), number(1));
    Value* sum = b_.CreateAdd(bits, b_.CreateAdd(odd, number((1u << (drop - 1)) - 1)));
    return b_.CreateLShr(sum, drop);
  }

 private:
  IrBuilder& b_;
  unsigned lanes_ = 0;
};

Value* from_bf16(IrBuilder& b, Value* x) {
  Bits t(b, x);
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(x, t.i32()), 16), t.f32());
}

Value* to_bf16(IrBuilder& b, Value* x) {
  Bits t(b, x);
  Value* bits = b.CreateBitCast(x, t.i32());
  Value* nan = b.CreateOr(b.CreateLShr(bits, 16), t.number(0x40));
  Value* chosen = b.CreateSelect(b.CreateFCmpUNO(x, x), nan, t.rounded(bits, 16));
  return b.CreateTrunc(chosen, t.i16());
}

// As base/half.h, with every case computed and one chosen.
Value* from_f16(IrBuilder& b, Value* x) {
  Bits t(b, x);
  Value* bits = b.CreateZExt(x, t.i32());
  Value* magnitude = b.CreateAnd(bits, t.number(0x7fff));
  Value* shifted = b.CreateShl(magnitude, 13);
  Value* special = b.CreateICmpUGE(magnitude, t.number(0x7c00));
  Value* bias = b.CreateSelect(special, t.number(224u << 23), t.number(112u << 23));
  Value* small = b.CreateFMul(b.CreateSIToFP(magnitude, t.f32()), t.f32_number(0x1p-24f));
  Value* is_small = b.CreateICmpULT(magnitude, t.number(0x400));
  Value* chosen =
      b.CreateSelect(is_small, b.CreateBitCast(small, t.i32()), b.CreateAdd(shifted, bias));
  Value* sign = b.CreateShl(b.CreateAnd(bits, t.number(0x8000)), 16);
  return b.CreateBitCast(b.CreateOr(chosen, sign), t.f32());
}

Value* to_f16(IrBuilder& b, Value* x) {
  Bits t(b, x);
  Value* bits = b.CreateBitCast(x, t.i32());
  Value* magnitude = b.CreateAnd(bits, t.number(0x7fffffff));
  Value* normal = t.rounded(b.CreateSub(magnitude, t.number(112u << 23)), 13);
  Value* shifted = b.CreateFAdd(b.CreateBitCast(magnitude, t.f32()), t.f32_number(0.5f));
  Value* small = b.CreateSub(b.CreateBitCast(shifted, t.i32()), t.number(0x3f000000));
  Value* nan =
      b.CreateOr(b.CreateAnd(b.CreateLShr(magnitude, 13), t.number(0x3ff)), t.number(0x7e00));
  Value* chosen = b.CreateSelect(b.CreateICmpULT(magnitude, t.number(0x38800000)), small, normal);
  chosen =
      b.CreateSelect(b.CreateICmpUGE(magnitude, t.number(0x477ff000)), t.number(0x7c00), chosen);
  chosen = b.CreateSelect(b.CreateFCmpUNO(x, x), nan, chosen);
  Value* sign = b.CreateAnd(b.CreateLShr(bits, 16), t.number(0x8000));
  return b.CreateTrunc(b.CreateOr(chosen, sign), t.i16());
}

}  // namespace

Value* emit_half_cast(IrBuilder& b, DType to, DType from, Value* x, bool f16_instructions) {
  if (from == DType::bf16 && to == DType::f32) return from_bf16(b, x);
  if (from == DType::f32 && to == DType::bf16) return to_bf16(b, x);
  if (from == DType::f16 && to == DType::f32) {
    if (!f16_instructions) return from_f16(b, x);
    Bits t(b, x);
    return b.CreateFPExt(b.CreateBitCast(x, t.f16()), t.f32());
  }
  if (from != DType::f32 || to != DType::f16) {
    fail_internal("codegen: 16-bit floats are cast to and from f32 alone");
  }
  if (!f16_instructions) return to_f16(b, x);
  Bits t(b, x);
  return b.CreateBitCast(b.CreateFPTrunc(x, t.f16()), t.i16());
}

}  // namespace trireme::codegen
