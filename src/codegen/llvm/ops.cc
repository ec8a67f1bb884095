#include "codegen/llvm/ops.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cmath>

#include "base/error.h"
#include "base/half.h"

namespace trireme::codegen {
namespace {

using kernel_ir::Expr;
using kernel_ir::ExprOp;
using kernel_ir::ReduceOp;
using llvm::Value;
using llvm::Intrinsic::ID;

Value* unary_intrinsic(IrBuilder& b, ID id, Value* x) { return b.CreateUnaryIntrinsic(id, x); }

Value* is_nan(IrBuilder& b, Value* x) { return b.CreateFCmpUNO(x, x); }

// value wins if it is strictly better or NaN; otherwise the accumulator, that is the first.
Value* float_min_max(IrBuilder& b, bool max, Value* first, Value* second) {
  Value* better = max ? b.CreateFCmpOGT(second, first) : b.CreateFCmpOLT(second, first);
  Value* result = b.CreateSelect(better, second, first);
  const auto* constant = llvm::dyn_cast<llvm::Constant>(second);
  if (constant != nullptr) {
    const llvm::Constant* one =
        constant->getType()->isVectorTy() ? constant->getSplatValue() : constant;
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(one);
    if (number != nullptr && !number->isNaN()) return result;
  }
  return b.CreateSelect(is_nan(b, second), second, result);
}

Value* min_max(IrBuilder& b, bool max, DType type, Value* first, Value* second) {
  if (is_arithmetic_float(type)) return float_min_max(b, max, first, second);
  const bool u = is_unsigned(type);
  const ID id = max ? (u ? llvm::Intrinsic::umax : llvm::Intrinsic::smax)
                    : (u ? llvm::Intrinsic::umin : llvm::Intrinsic::smin);
  return b.CreateBinaryIntrinsic(id, first, second);
}

// Integer division: by zero gives 0, the overflow of the smallest by -1 wraps.
Value* integer_division(IrBuilder& b, bool quotient, DType type, Value* x, Value* y) {
  llvm::Type* t = x->getType();
  Value* zero = llvm::Constant::getNullValue(t);
  Value* one = llvm::ConstantInt::get(t, 1);
  const auto divide = [&](Value* divisor) {
    if (is_unsigned(type)) return quotient ? b.CreateUDiv(x, divisor) : b.CreateURem(x, divisor);
    return quotient ? b.CreateSDiv(x, divisor) : b.CreateSRem(x, divisor);
  };
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(y)) {
    const llvm::Constant* single = t->isVectorTy() ? constant->getSplatValue() : constant;
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(single);
    if (number != nullptr && !number->isZero() && !number->isMinusOne()) return divide(y);
  }
  Value* by_zero = b.CreateICmpEQ(y, zero);
  Value* bad = by_zero;
  if (!is_unsigned(type)) {
    const unsigned bits = t->getScalarSizeInBits();
    Value* smallest = llvm::ConstantInt::get(t, llvm::APInt::getSignedMinValue(bits));
    Value* minus_one = llvm::ConstantInt::getSigned(t, -1);
    Value* overflow = b.CreateAnd(b.CreateICmpEQ(x, smallest), b.CreateICmpEQ(y, minus_one));
    bad = b.CreateOr(bad, overflow);
  }
  Value* result = divide(b.CreateSelect(bad, one, y));
  return quotient ? b.CreateSelect(by_zero, zero, result) : result;
}

Value* compare(IrBuilder& b, ExprOp op, DType argument, Value* x, Value* y) {
  using P = llvm::CmpInst::Predicate;
  if (is_arithmetic_float(argument)) {
    switch (op) {
      case ExprOp::eq: return b.CreateFCmp(P::FCMP_OEQ, x, y);
      case ExprOp::ne: return b.CreateFCmp(P::FCMP_UNE, x, y);
      case ExprOp::lt: return b.CreateFCmp(P::FCMP_OLT, x, y);
      default: return b.CreateFCmp(P::FCMP_OLE, x, y);
    }
  }
  const bool u = is_unsigned(argument);
  switch (op) {
    case ExprOp::eq: return b.CreateICmp(P::ICMP_EQ, x, y);
    case ExprOp::ne: return b.CreateICmp(P::ICMP_NE, x, y);
    case ExprOp::lt: return b.CreateICmp(u ? P::ICMP_ULT : P::ICMP_SLT, x, y);
    default: return b.CreateICmp(u ? P::ICMP_ULE : P::ICMP_SLE, x, y);
  }
}

// A float to an integer of 8 or 16 bits, which LLVM converts lane by lane: clamped as a float, then
// exact.
Value* narrow_integer(IrBuilder& b, DType to, Value* x, llvm::Type* result) {
  const unsigned bits = result->getScalarSizeInBits();
  const bool u = is_unsigned(to);
  const double low = u ? 0 : -std::exp2(bits - 1);
  const double high = std::exp2(u ? bits : bits - 1) - 1;
  const auto number = [&](double n) { return llvm::ConstantFP::get(x->getType(), n); };
  Value* v = x;
  if (!u) v = b.CreateSelect(is_nan(b, v), number(0), v);
  v = b.CreateSelect(b.CreateFCmpOGT(v, number(low)), v, number(low));  // of u8: NaN too
  v = b.CreateSelect(b.CreateFCmpOLT(v, number(high)), v, number(high));
  llvm::Type* wide = result->getWithNewBitWidth(32);
  return b.CreateTrunc(b.CreateFPToSI(v, wide), result);
}

Value* convert(IrBuilder& b, DType to, DType from, Value* x, llvm::Type* result) {
  if (to == from) return x;
  if (to == DType::boolean) {
    Value* zero = llvm::Constant::getNullValue(x->getType());
    return is_arithmetic_float(from) ? b.CreateFCmpUNE(x, zero) : b.CreateICmpNE(x, zero);
  }
  if (is_arithmetic_float(to)) {
    if (is_arithmetic_float(from)) return b.CreateFPCast(x, result);
    return is_unsigned(from) ? b.CreateUIToFP(x, result) : b.CreateSIToFP(x, result);
  }
  if (is_arithmetic_float(from)) {
    if (result->getScalarSizeInBits() <= 16) return narrow_integer(b, to, x, result);
    const ID id = is_unsigned(to) ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    return b.CreateIntrinsic(id, {result, x->getType()}, {x});
  }
  return b.CreateIntCast(x, result, !is_unsigned(from));
}

// Calls a function of the C library, for vectors once per lane.
Value* library_call(IrBuilder& b, const char* name, std::initializer_list<Value*> args) {
  llvm::Type* scalar = (*args.begin())->getType()->getScalarType();
  llvm::Module* module = b.GetInsertBlock()->getModule();
  std::vector<llvm::Type*> parameters(args.size(), scalar);
  llvm::FunctionCallee callee =
      module->getOrInsertFunction(name, llvm::FunctionType::get(scalar, parameters, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  const auto call = [&](llvm::ArrayRef<Value*> values) {
    llvm::CallInst* c = b.CreateCall(callee, values);
    c->addFnAttr(llvm::Attribute::NoBuiltin);
    return c;
  };
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>((*args.begin())->getType());
  if (vector == nullptr) return call(std::vector<Value*>(args));
  Value* result = llvm::PoisonValue::get(vector);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    std::vector<Value*> values;
    for (Value* arg : args) values.push_back(b.CreateExtractElement(arg, lane));
    result = b.CreateInsertElement(result, call(values), lane);
  }
  return result;
}

Value* library_maths(IrBuilder& b, const Expr& e, Value* const* args) {
  if (e.type != DType::f64) fail_internal("codegen: maths of f32 must be expanded before");
  switch (e.op) {
    case ExprOp::exp: return library_call(b, "exp", {args[0]});
    case ExprOp::log: return library_call(b, "log", {args[0]});
    case ExprOp::tanh: return library_call(b, "tanh", {args[0]});
    case ExprOp::erf: return library_call(b, "erf", {args[0]});
    case ExprOp::erfc: return library_call(b, "erfc", {args[0]});
    case ExprOp::sin: return library_call(b, "sin", {args[0]});
    case ExprOp::cos: return library_call(b, "cos", {args[0]});
    case ExprOp::tan: return library_call(b, "tan", {args[0]});
    case ExprOp::atan: return library_call(b, "atan", {args[0]});
    case ExprOp::log1p: return library_call(b, "log1p", {args[0]});
    case ExprOp::expm1: return library_call(b, "expm1", {args[0]});
    case ExprOp::pow: return library_call(b, "pow", {args[0], args[1]});
    default: {  // sigmoid
      Value* one = llvm::ConstantFP::get(args[0]->getType(), 1.0);
      Value* exp = library_call(b, "exp", {b.CreateFNeg(args[0])});
      return b.CreateFDiv(one, b.CreateFAdd(one, exp));
    }
  }
}

Value* shift(IrBuilder& b, bool left, Value* x, Value* count) {
  const unsigned bits = x->getType()->getScalarSizeInBits();
  Value* wrapped = b.CreateAnd(count, llvm::ConstantInt::get(x->getType(), bits - 1));
  return left ? b.CreateShl(x, wrapped) : b.CreateLShr(x, wrapped);
}

Value* arithmetic(IrBuilder& b, const Expr& e, Value* x, Value* y) {
  const bool f = is_arithmetic_float(e.type);
  switch (e.op) {
    case ExprOp::add: return f ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
    case ExprOp::sub: return f ? b.CreateFSub(x, y) : b.CreateSub(x, y);
    case ExprOp::mul: return f ? b.CreateFMul(x, y) : b.CreateMul(x, y);
    case ExprOp::div: return f ? b.CreateFDiv(x, y) : integer_division(b, true, e.type, x, y);
    case ExprOp::rem: return f ? b.CreateFRem(x, y) : integer_division(b, false, e.type, x, y);
    default: fail_internal("codegen: not an arithmetic operation");
  }
}

}  // namespace

llvm::Type* register_type(llvm::LLVMContext& context, DType type) {
  switch (type) {
    case DType::boolean: return llvm::Type::getInt1Ty(context);
    case DType::i8:
    case DType::u8: return llvm::Type::getInt8Ty(context);
    case DType::u32:
    case DType::i32: return llvm::Type::getInt32Ty(context);
    case DType::u64:
    case DType::i64: return llvm::Type::getInt64Ty(context);
    case DType::f32: return llvm::Type::getFloatTy(context);
    case DType::f64: return llvm::Type::getDoubleTy(context);
    case DType::i16:
    case DType::u16:
    case DType::bf16:
    case DType::f16: return llvm::Type::getInt16Ty(context);
  }
  return nullptr;
}

llvm::Type* memory_type(llvm::LLVMContext& context, DType type) {
  return register_type(context, type == DType::boolean ? DType::u8 : type);
}

llvm::Type* with_lanes(llvm::Type* type, unsigned lanes) {
  return lanes == 0 ? type : llvm::FixedVectorType::get(type, lanes);
}

Value* to_register(IrBuilder& b, DType type, Value* from_memory) {
  if (type != DType::boolean) return from_memory;
  return b.CreateICmpNE(from_memory, llvm::Constant::getNullValue(from_memory->getType()));
}

Value* to_memory(IrBuilder& b, DType type, Value* from_register) {
  if (type != DType::boolean) return from_register;
  llvm::Type* byte = b.getInt8Ty();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(from_register->getType())) {
    byte = with_lanes(byte, vector->getNumElements());
  }
  return b.CreateZExt(from_register, byte);
}

llvm::Constant* scalar_constant(llvm::LLVMContext& context, const Expr& constant) {
  llvm::Type* type = register_type(context, constant.type);
  const auto narrow = static_cast<float>(constant.number);
  if (constant.type == DType::bf16) return llvm::ConstantInt::get(type, to_bf16(narrow).bits);
  if (constant.type == DType::f16) return llvm::ConstantInt::get(type, to_f16(narrow).bits);
  if (!is_arithmetic_float(constant.type))
    return llvm::ConstantInt::getSigned(type, constant.integer);
  if (constant.type == DType::f64) return llvm::ConstantFP::get(type, constant.number);
  return llvm::ConstantFP::get(context, llvm::APFloat(narrow));
}

Value* emit_op(IrBuilder& b, const Expr& e, DType argument, Value* const* args) {
  llvm::Type* result = register_type(b.getContext(), e.type);
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(args[0]->getType())) {
    result = with_lanes(result, vector->getNumElements());
  }
  switch (e.op) {
    case ExprOp::neg:
      return is_arithmetic_float(e.type) ? b.CreateFNeg(args[0]) : b.CreateNeg(args[0]);
    case ExprOp::abs:
      if (is_arithmetic_float(e.type)) return unary_intrinsic(b, llvm::Intrinsic::fabs, args[0]);
      if (is_unsigned(e.type)) return args[0];
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, args[0], b.getFalse());
    case ExprOp::sqrt: return unary_intrinsic(b, llvm::Intrinsic::sqrt, args[0]);
    case ExprOp::floor: return unary_intrinsic(b, llvm::Intrinsic::floor, args[0]);
    case ExprOp::ceil: return unary_intrinsic(b, llvm::Intrinsic::ceil, args[0]);
    case ExprOp::round_even: return unary_intrinsic(b, llvm::Intrinsic::roundeven, args[0]);
    case ExprOp::trunc: return unary_intrinsic(b, llvm::Intrinsic::trunc, args[0]);
    case ExprOp::logical_not: return b.CreateNot(args[0]);
    case ExprOp::exp:
    case ExprOp::log:
    case ExprOp::tanh:
    case ExprOp::sigmoid:
    case ExprOp::erf:
    case ExprOp::erfc:
    case ExprOp::sin:
    case ExprOp::cos:
    case ExprOp::tan:
    case ExprOp::atan:
    case ExprOp::log1p:
    case ExprOp::expm1:
    case ExprOp::pow: return library_maths(b, e, args);
    case ExprOp::cast: return convert(b, e.type, argument, args[0], result);
    case ExprOp::bitcast: return b.CreateBitCast(args[0], result);
    case ExprOp::popcount: return unary_intrinsic(b, llvm::Intrinsic::ctpop, args[0]);
    case ExprOp::min: return min_max(b, false, e.type, args[0], args[1]);
    case ExprOp::max: return min_max(b, true, e.type, args[0], args[1]);
    case ExprOp::bit_and: return b.CreateAnd(args[0], args[1]);
    case ExprOp::bit_or: return b.CreateOr(args[0], args[1]);
    case ExprOp::bit_xor: return b.CreateXor(args[0], args[1]);
    case ExprOp::shl: return shift(b, true, args[0], args[1]);
    case ExprOp::shr: return shift(b, false, args[0], args[1]);
    case ExprOp::eq:
    case ExprOp::ne:
    case ExprOp::lt:
    case ExprOp::le: return compare(b, e.op, argument, args[0], args[1]);
    case ExprOp::select: return b.CreateSelect(args[0], args[1], args[2]);
    case ExprOp::fma:
      return b.CreateIntrinsic(llvm::Intrinsic::fma, {result}, {args[0], args[1], args[2]});
    default: return arithmetic(b, e, args[0], args[1]);
  }
}

// In double: below 2^52 both numbers are exact, and the rounded quotient never reaches the next
// integer.
Value* emit_index_division(IrBuilder& b, bool quotient, Value* x, Value* y) {
  auto* type = llvm::cast<llvm::FixedVectorType>(x->getType());
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(y)) {
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getSplatValue());
    if (number != nullptr && number->getValue().isPowerOf2()) {
      if (quotient) return b.CreateLShr(x, number->getValue().logBase2());
      return b.CreateAnd(x, llvm::ConstantInt::get(type, number->getZExtValue() - 1));
    }
  }
  Value* by_zero = b.CreateICmpEQ(y, llvm::Constant::getNullValue(type));
  Value* divisor = b.CreateSelect(by_zero, llvm::ConstantInt::get(type, 1), y);
  llvm::Type* wide = with_lanes(b.getDoubleTy(), type->getNumElements());
  Value* ratio = b.CreateFDiv(b.CreateSIToFP(x, wide), b.CreateSIToFP(divisor, wide));
  Value* result = b.CreateFPToSI(ratio, type);
  if (!quotient) return b.CreateSub(x, b.CreateMul(result, divisor));
  return b.CreateSelect(by_zero, llvm::Constant::getNullValue(type), result);
}

Value* emit_reduce(IrBuilder& b, ReduceOp reduce, DType type, Value* accumulator, Value* value) {
  const bool f = is_arithmetic_float(type);
  switch (reduce) {
    case ReduceOp::sum:
      return f ? b.CreateFAdd(accumulator, value) : b.CreateAdd(accumulator, value);
    case ReduceOp::prod:
      return f ? b.CreateFMul(accumulator, value) : b.CreateMul(accumulator, value);
    case ReduceOp::min: return min_max(b, false, type, accumulator, value);
    case ReduceOp::max: return min_max(b, true, type, accumulator, value);
    default: fail_internal("codegen: argmin and argmax are not reduced by value alone");
  }
}

Value* emit_beats(IrBuilder& b, ReduceOp reduce, DType type, Value* value, Value* accumulator) {
  const bool greater = reduce == ReduceOp::argmax;
  if (!is_arithmetic_float(type)) {
    if (is_unsigned(type)) {
      return greater ? b.CreateICmpUGT(value, accumulator) : b.CreateICmpULT(value, accumulator);
    }
    return greater ? b.CreateICmpSGT(value, accumulator) : b.CreateICmpSLT(value, accumulator);
  }
  Value* better =
      greater ? b.CreateFCmpOGT(value, accumulator) : b.CreateFCmpOLT(value, accumulator);
  Value* first_nan = b.CreateAnd(is_nan(b, value), b.CreateFCmpORD(accumulator, accumulator));
  return b.CreateOr(better, first_nan);
}

}  // namespace trireme::codegen
