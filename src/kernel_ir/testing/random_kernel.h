#pragma once

// Random kernels for tests of this room and of codegen.

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>

#include "kernel_ir/kernel.h"

namespace trireme::kernel_ir::testing {
namespace detail {

inline constexpr DType kTypes[] = {boolean, u8, i32, i64, f32, f64, i8, i16, u16, u32, u64};
inline constexpr int kTypeCount = static_cast<int>(std::size(kTypes));
inline constexpr std::int32_t kInOut = 2 * kTypeCount;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed), b_(kernel_) {}

  Kernel make() {
    kernel_.name = "random \"quoted\\ name";
    kernel_.sizes = {"rows", "columns"};
    for (const DType type : kTypes) {
      kernel_.buffers.push_back({type, BufferRole::input, "in"});
    }
    for (const DType type : kTypes) {
      kernel_.buffers.push_back({type, BufferRole::output, "out"});
    }
    kernel_.buffers.push_back({f32, BufferRole::inout, "both"});
    kernel_.loop_vars = 3;
    row_ = b_.loop_var(0);
    column_ = b_.loop_var(1);
    b_.set_extent(1, b_.size(1));
    element_ = b_.add(b_.mul(row_, b_.size(1)), column_);
    kernel_.root = make_loop(LoopKind::parallel, 0, b_.size(0), rows());
    return std::move(kernel_);
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  DType any_type() { return kTypes[below(kTypeCount)]; }
  DType any_number() { return kTypes[1 + below(kTypeCount - 1)]; }

  std::vector<Stmt> rows() {
    std::vector<Stmt> body;
    const int lanes = 1 << below(5);
    const int unroll = 1 << below(3);
    const LoopKind kind = one_in(6) ? LoopKind::serial : LoopKind::vector;
    const int reductions = below(3);
    for (int i = 0; i < reductions; ++i) reduction(body, kind, lanes, unroll);
    std::vector<Stmt> stores;
    if (one_in(3)) inner_reduction(stores);
    const int outputs = 1 + below(3);
    int out = below(kTypeCount);
    for (int i = 0; i < outputs; ++i, out = (out + 1) % kTypeCount) {
      const ExprId guard = one_in(4) ? expr(boolean, 2) : kNoExpr;
      stores.push_back(make_store(kTypeCount + out, element_, expr(kTypes[out], 5), guard));
    }
    if (one_in(2)) {
      stores.push_back(
          make_store(kInOut, element_, b_.add(b_.load(kInOut, element_), expr(f32, 3))));
    }
    body.push_back(make_loop(kind, 1, b_.size(1), std::move(stores), lanes, unroll));
    return body;
  }

  void reduction(std::vector<Stmt>& body, LoopKind kind, int lanes, int unroll) {
    const std::int32_t number = kernel_.accumulators++;
    const auto op = static_cast<ReduceOp>(below(6));
    const DType type = any_number();
    body.push_back(make_declare(number, op, type));
    const bool index = op == ReduceOp::argmin || op == ReduceOp::argmax;
    const ExprId value = expr(type, 3);
    body.push_back(make_loop(kind, 1, b_.size(1),
                             {make_accumulate(number, op, type, value, index ? column_ : kNoExpr)},
                             lanes, unroll));
    readable_.push_back(b_.accumulator(number, type));
    if (index) readable_.push_back(b_.accumulator_index(number));
  }

  // A serial loop and its accumulator inside the loop over columns.
  void inner_reduction(std::vector<Stmt>& body) {
    const std::int32_t number = kernel_.accumulators++;
    const DType type = any_number();
    const ReduceOp op = one_in(2) ? ReduceOp::sum : ReduceOp::max;
    body.push_back(make_declare(number, op, type));
    const ExprId step = b_.loop_var(2);
    const ExprId value = b_.add(expr(type, 3), b_.cast(step, type));
    body.push_back(make_loop(LoopKind::serial, 2, b_.integer(1 + below(3)),
                             {make_accumulate(number, op, type, value)}));
    readable_.push_back(b_.accumulator(number, type));
  }

  // An index that is in range for every buffer.
  ExprId index() {
    switch (below(8)) {
      case 0: return column_;
      case 1: return b_.mul(row_, b_.size(1));
      case 2: return b_.sub(b_.sub(b_.size(1), b_.integer(1)), column_);
      case 3: {
        const ExprId loaded = b_.load(3, element_);
        const ExprId any = b_.rem(loaded, b_.size(1));
        return b_.max(any, b_.integer(0));
      }
      default: return element_;
    }
  }

  ExprId leaf(DType type) {
    if (!readable_.empty() && one_in(3)) {
      return b_.cast(readable_[static_cast<std::size_t>(below(static_cast<int>(readable_.size())))],
                     type);
    }
    if (one_in(4)) {
      const double numbers[] = {0, 1, 2, 3, 0.5, 100, 7, 1e-3};
      return b_.constant(type, numbers[below(8)]);
    }
    if (one_in(8)) return b_.cast(one_in(2) ? column_ : row_, type);
    std::int32_t buffer = 0;
    while (kTypes[buffer] != type) ++buffer;
    if (one_in(5)) {
      const ExprId shifted = b_.add(column_, b_.integer(below(7) - 3));
      const ExprId inside =
          b_.logical_and(b_.le(b_.integer(0), shifted), b_.lt(shifted, b_.size(1)));
      return b_.load(buffer, shifted, inside);
    }
    return b_.load(buffer, index());
  }

  ExprId expr(DType type, int depth) {
    if (depth == 0 || one_in(6)) return leaf(type);
    const auto sub = [&](DType t) { return expr(t, depth - 1); };
    switch (below(8)) {
      case 0: return b_.cast(sub(any_type()), type);
      case 1: return b_.select(sub(boolean), sub(type), sub(type));
      case 2: return b_.binary(one_in(2) ? ExprOp::min : ExprOp::max, sub(type), sub(type));
      default: break;
    }
    if (type == boolean) return truth(depth);
    if (is_arithmetic_float(type)) return number(type, depth);
    constexpr ExprOp kOps[] = {ExprOp::add, ExprOp::sub,    ExprOp::mul,     ExprOp::div,
                               ExprOp::rem, ExprOp::bit_or, ExprOp::bit_xor, ExprOp::bit_and,
                               ExprOp::shl, ExprOp::shr};
    if (one_in(6)) return b_.unary(one_in(2) ? ExprOp::neg : ExprOp::abs, sub(type));
    if (one_in(10)) return b_.unary(ExprOp::popcount, sub(type));
    if (type == i32 && one_in(8)) return b_.dot2(sub(i32), sub(i32));
    if (type == i32 && one_in(3)) return b_.dot4(sub(one_in(2) ? u32 : i32), sub(i32));
    return b_.binary(kOps[below(10)], sub(type), sub(type));
  }

  ExprId truth(int depth) {
    const auto sub = [&](DType t) { return expr(t, depth - 1); };
    if (one_in(5)) return b_.unary(ExprOp::logical_not, sub(boolean));
    if (one_in(3)) {
      constexpr ExprOp kOps[] = {ExprOp::bit_and, ExprOp::bit_or, ExprOp::bit_xor};
      return b_.binary(kOps[below(3)], sub(boolean), sub(boolean));
    }
    constexpr ExprOp kOps[] = {ExprOp::eq, ExprOp::ne, ExprOp::lt, ExprOp::le};
    const DType type = any_type();
    return b_.binary(kOps[below(4)], sub(type), sub(type));
  }

  ExprId number(DType type, int depth) {
    const auto sub = [&] { return expr(type, depth - 1); };
    if (one_in(4)) return b_.fma(sub(), sub(), sub());
    if (one_in(3)) {
      constexpr ExprOp kOps[] = {ExprOp::neg,   ExprOp::abs,        ExprOp::sqrt,  ExprOp::floor,
                                 ExprOp::ceil,  ExprOp::round_even, ExprOp::trunc, ExprOp::exp,
                                 ExprOp::log,   ExprOp::tanh,       ExprOp::erf,   ExprOp::sin,
                                 ExprOp::cos,   ExprOp::sigmoid,    ExprOp::tan,   ExprOp::atan,
                                 ExprOp::log1p, ExprOp::expm1};
      return b_.unary(kOps[below(18)], sub());
    }
    constexpr ExprOp kOps[] = {ExprOp::add, ExprOp::sub, ExprOp::mul,
                               ExprOp::div, ExprOp::rem, ExprOp::pow};
    const int op = one_in(8) ? 4 + below(2) : below(4);
    return b_.binary(kOps[op], sub(), sub());
  }

  std::mt19937_64 random_;
  Kernel kernel_;
  Builder b_;
  ExprId row_ = kNoExpr;
  ExprId column_ = kNoExpr;
  ExprId element_ = kNoExpr;
  std::vector<ExprId> readable_;  // accumulators
};

}  // namespace detail

// A valid kernel made from a seed, for comparing what several programs make of it. Its sizes are
// rows and columns; it runs over rows. Every buffer has rows * columns elements: one input and one
// output of each dtype, then an inout f32.
inline Kernel random_kernel(std::uint64_t seed) { return detail::Generator(seed).make(); }

}  // namespace trireme::kernel_ir::testing
