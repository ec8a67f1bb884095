// Sums of products of bytes and of halves of words. All ways below give the same numbers. No sum
// saturates, because a target without dot products of bytes widens them to 16 bits first.

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/llvm/ops.h"

namespace trireme::codegen {
namespace {

using llvm::Value;
using llvm::Intrinsic::ID;

Value* splat_of(Value* like, std::uint64_t number) {
  return llvm::ConstantInt::get(like->getType(), number);
}

Value* byte_of(IrBuilder& b, Value* word, unsigned number, bool is_unsigned) {
  if (is_unsigned) {
    return b.CreateAnd(b.CreateLShr(word, std::uint64_t{8 * number}), splat_of(word, 255));
  }
  return b.CreateAShr(b.CreateShl(word, std::uint64_t{24 - 8 * number}), std::uint64_t{24});
}

// For scalars and short vectors of any target.
Value* by_bytes(IrBuilder& b, Value* sum, Value* words, Value* signed_words, bool is_unsigned) {
  for (unsigned i = 0; i < 4; ++i) {
    Value* x = byte_of(b, words, i, is_unsigned);
    sum = b.CreateAdd(sum, b.CreateMul(x, byte_of(b, signed_words, i, false)));
  }
  return sum;
}

Value* by_halves(IrBuilder& b, Value* sum, Value* x, Value* y) {
  const auto half = [&](Value* word, bool high) {
    Value* v = high ? word : b.CreateShl(word, std::uint64_t{16});
    return b.CreateAShr(v, std::uint64_t{16});
  };
  for (const bool high : {false, true}) {
    sum = b.CreateAdd(sum, b.CreateMul(half(x, high), half(y, high)));
  }
  return sum;
}

Value* by_pair_sum(IrBuilder& b, Value* sum, Value* x, Value* y) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(sum->getType())->getNumElements();
  auto* pairs = llvm::FixedVectorType::get(b.getInt16Ty(), 2 * lanes);
  const ID id = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                             : llvm::Intrinsic::x86_sse2_pmadd_wd;
  Value* products =
      b.CreateIntrinsic(id, {}, {b.CreateBitCast(x, pairs), b.CreateBitCast(y, pairs)});
  return b.CreateAdd(sum, products);
}

// Sums of pairs of 16 bits: one for the even bytes and one for the odd ones.
Value* by_pairs(IrBuilder& b, Value* sum, Value* words, Value* signed_words, bool is_unsigned) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(sum->getType())->getNumElements();
  auto* pairs = llvm::FixedVectorType::get(b.getInt16Ty(), 2 * lanes);
  const auto halves = [&](Value* word, bool odd, bool without_sign) {
    Value* v = b.CreateBitCast(word, pairs);
    if (without_sign) {
      v = odd ? b.CreateLShr(v, std::uint64_t{8}) : b.CreateAnd(v, splat_of(v, 255));
    } else {
      v = b.CreateAShr(odd ? v : b.CreateShl(v, std::uint64_t{8}), std::uint64_t{8});
    }
    return b.CreateBitCast(v, word->getType());
  };
  for (const bool odd : {false, true}) {
    sum = by_pair_sum(b, sum, halves(words, odd, is_unsigned), halves(signed_words, odd, false));
  }
  return sum;
}

// vpdpbusd multiplies unsigned by signed bytes. A signed byte is 128 less than the unsigned one
// with its highest bit changed.
Value* by_vnni(IrBuilder& b, Value* sum, Value* words, Value* signed_words, bool is_unsigned) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(sum->getType())->getNumElements();
  const ID id = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                             : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  const auto dot = [&](Value* into, Value* x) {
    return b.CreateIntrinsic(id, {}, {into, x, signed_words});
  };
  if (is_unsigned) return dot(sum, words);
  Value* shifted = b.CreateXor(words, splat_of(words, 0x80808080u));
  Value* zero = llvm::Constant::getNullValue(sum->getType());
  return b.CreateSub(dot(sum, shifted), dot(zero, splat_of(words, 0x80808080u)));
}

// sdot multiplies signed bytes: an unsigned byte is 128 more than the signed one with its highest
// bit changed.
Value* by_neon(IrBuilder& b, Value* sum, Value* words, Value* signed_words, bool is_unsigned) {
  auto* type = llvm::cast<llvm::FixedVectorType>(sum->getType());
  auto* bytes = llvm::FixedVectorType::get(b.getInt8Ty(), 4 * type->getNumElements());
  const auto dot = [&](Value* into, Value* x) {
    return b.CreateIntrinsic(
        llvm::Intrinsic::aarch64_neon_sdot, {type, bytes},
        {into, b.CreateBitCast(x, bytes), b.CreateBitCast(signed_words, bytes)});
  };
  if (!is_unsigned) return dot(sum, words);
  Value* zero = llvm::Constant::getNullValue(sum->getType());
  // 128 is 2 * 64, and 64 is a signed byte.
  Value* half = dot(zero, splat_of(words, 0x40404040u));
  Value* shifted = dot(sum, b.CreateXor(words, splat_of(words, 0x80808080u)));
  return b.CreateAdd(shifted, b.CreateShl(half, std::uint64_t{1}));
}

// Parts of one number in all lanes are equal values, which are computed once.
Value* lanes_of(IrBuilder& b, Value* v, unsigned begin, unsigned count) {
  if (Value* number = llvm::getSplatValue(v)) return b.CreateVectorSplat(count, number);
  std::vector<int> lanes;
  for (unsigned i = 0; i < count; ++i) lanes.push_back(static_cast<int>(begin + i));
  return b.CreateShuffleVector(v, lanes);
}

// Joins vectors of one length; their number is a power of two.
Value* joined(IrBuilder& b, std::vector<Value*> parts) {
  while (parts.size() > 1) {
    std::vector<Value*> pairs;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      const auto n = llvm::cast<llvm::FixedVectorType>(parts[i]->getType())->getNumElements();
      std::vector<int> lanes;
      for (unsigned k = 0; k < 2 * n; ++k) lanes.push_back(static_cast<int>(k));
      pairs.push_back(b.CreateShuffleVector(parts[i], parts[i + 1], lanes));
    }
    parts = std::move(pairs);
  }
  return parts[0];
}

// Calls part(sum, x, y, false) with vectors of at most `native` lanes, or part(sum, x, y, true)
// with scalars and short vectors.
template <class Part>
Value* in_parts(IrBuilder& b, unsigned native, Value* sum, Value* x, Value* y, Part part) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(sum->getType());
  const unsigned lanes = type == nullptr ? 1 : type->getNumElements();
  constexpr unsigned kShortest = 4;
  if (native == 0 || lanes < kShortest) return part(sum, x, y, true);
  if (lanes <= native) return part(sum, x, y, false);
  std::vector<Value*> parts;
  for (unsigned i = 0; i < lanes; i += native) {
    parts.push_back(part(lanes_of(b, sum, i, native), lanes_of(b, x, i, native),
                         lanes_of(b, y, i, native), false));
  }
  return joined(b, std::move(parts));
}

}  // namespace

Value* emit_dot4(IrBuilder& b, const Instructions& target, Value* accumulator, Value* words,
                 Value* signed_words, bool is_unsigned) {
  const unsigned native = target.dot4_512 ? 16 : target.dot4_256 ? 8 : target.dot4_neon ? 4 : 0;
  auto* how = target.dot4_neon ? by_neon : native != 0 ? by_vnni : by_pairs;
  return in_parts(
      b, native != 0 ? native : static_cast<unsigned>(target.pair_sum_bytes) / 4, accumulator,
      words, signed_words, [&](Value* sum, Value* x, Value* y, bool single) {
        return single ? by_bytes(b, sum, x, y, is_unsigned) : how(b, sum, x, y, is_unsigned);
      });
}

Value* emit_dot2(IrBuilder& b, const Instructions& target, Value* accumulator, Value* x, Value* y) {
  return in_parts(b, static_cast<unsigned>(target.pair_sum_bytes) / 4, accumulator, x, y,
                  [&](Value* sum, Value* p, Value* q, bool single) {
                    return single ? by_halves(b, sum, p, q) : by_pair_sum(b, sum, p, q);
                  });
}

}  // namespace trireme::codegen
