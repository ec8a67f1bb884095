// The maths functions of f32, built from other operations. tools/fit_math.py computes the
// coefficients. Largest errors in units in the last place; codegen/llvm/math_test.cc measures them
// over the range of floats, where the true result is a normal number unless stated otherwise:
//
//   exp      1.0   results below 2^-126 become 0
//   log      1.0   subnormal arguments included
//   tanh     1.4   subnormal arguments included
//   sigmoid  2.3
//   erf      1.2   subnormal arguments included
//   erfc     5.5
//   sin cos  1.6   up to |x| = 2^40; beyond, some number in [-1, 1]
//   tan      3.5   up to |x| = 2^40; beyond, some number
//   atan     1.9   subnormal arguments included
//   log1p    1.1   subnormal arguments included
//   expm1    1.6   subnormal arguments included
//   pow      0.51  subnormal results included
//
// Infinities, NaN and zeros of both signs give what C's functions give.

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <utility>

#include "kernel_ir/kernel.h"

namespace trireme::kernel_ir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRound32 = 12582912.0;          // 1.5 * 2^23: adding it rounds to an integer
constexpr double kRound64 = 6755399441055744.0;  // 1.5 * 2^52

class Maths {
 public:
  explicit Maths(Builder& b) : b_(b) {}

  ExprId exp(ExprId x) {
    const ExprId finite = exp_inside(x);
    const ExprId y = b_.select(b_.le(x, f32(0x1.62e42ep6)), finite, b_.mul(x, f32(kInfinity)));
    return b_.select(b_.lt(x, f32(-0x1.5d589ep6)), f32(0), y);
  }

  ExprId sigmoid(ExprId x) {
    const ExprId z = b_.max(b_.unary(ExprOp::neg, x), f32(-87));
    const ExprId finite = exp_inside(z);
    const ExprId e = b_.select(b_.le(z, f32(0x1.62e42ep6)), finite, b_.mul(z, f32(kInfinity)));
    return b_.div(f32(1), b_.add(f32(1), e));
  }

  // A polynomial below 0.6, 1 - 2 / (1 + exp(2|x|)) beyond.
  ExprId tanh(ExprId x) {
    const ExprId a = b_.unary(ExprOp::abs, x);
    const ExprId z = b_.mul(a, a);
    const ExprId q = polynomial(
        z, {-0x1.55553ep-2, 0x1.1109dcp-3, -0x1.b89ed8p-5, 0x1.54e014p-6, -0x1.830be6p-8});
    const ExprId small = b_.fma(b_.mul(a, z), q, a);
    const ExprId e = exp_inside(b_.min(b_.add(a, a), f32(20)));
    const ExprId large = b_.sub(f32(1), b_.div(f32(2), b_.add(e, f32(1))));
    return with_sign(b_.select(b_.lt(f32(0.6), a), large, small), x);
  }

  ExprId log(ExprId x) { return log_and_more(x, f32(0)); }

  // log(u) + (x + 1 - u) / u for u = 1 + x as it is rounded.
  ExprId log1p(ExprId x) {
    const ExprId u = b_.add(f32(1), x);
    const ExprId lost =
        b_.select(b_.lt(f32(1), x), b_.sub(f32(1), b_.sub(u, x)), b_.sub(x, b_.sub(u, f32(1))));
    const ExprId y = log_and_more(u, b_.div(lost, u));
    return b_.select(b_.lt(b_.unary(ExprOp::abs, x), f32(0x1p-25)), x, y);
  }

  // 2^n p + (2^n - 1) for exp(r) = 1 + p. Half of it, as 2^128 is no number.
  ExprId expm1(ExprId x) {
    const Reduced a = reduce_exp(b_.max(x, f32(-18)));
    const ExprId q = polynomial(
        a.r, {0x1p-1, 0x1.555556p-3, 0x1.5554aep-5, 0x1.111092p-7, 0x1.6d7540p-10, 0x1.a19ee6p-13});
    const ExprId p = b_.fma(b_.mul(a.r, a.r), q, a.r);
    const ExprId half = b_.bitcast(b_.add(i32(0x3f000000), shifted(a.t)), DType::f32);
    const ExprId sum = b_.fma(half, p, b_.sub(half, f32(0.5)));
    const ExprId y =
        b_.select(b_.le(x, f32(0x1.62e42ep6)), b_.add(sum, sum), b_.mul(x, f32(kInfinity)));
    return b_.select(b_.lt(b_.unary(ExprOp::abs, x), f32(0x1p-25)), x, y);
  }

  // atan(a) = base + atan(t), |t| <= tan(pi / 8), for base = 0, pi / 4 and pi / 2.
  ExprId atan(ExprId x) {
    const ExprId a = b_.unary(ExprOp::abs, x);
    const ExprId middle = b_.lt(f32(0x1.a8279ap-2), a);
    const ExprId large = b_.lt(f32(0x1.3504f4p1), a);
    const auto choose = [&](ExprId in_large, ExprId in_middle, ExprId in_small) {
      return b_.select(large, in_large, b_.select(middle, in_middle, in_small));
    };
    const ExprId t =
        b_.div(choose(f32(-1), b_.sub(a, f32(1)), a), choose(a, b_.add(a, f32(1)), f32(1)));
    const ExprId z = b_.mul(t, t);
    const ExprId q = polynomial(
        z, {-0x1.55554ap-2, 0x1.9991a6p-3, -0x1.23b636p-3, 0x1.b1fa0ep-4, -0x1.f22aecp-5});
    // What pi / 2 and pi / 4 lack as floats goes to the small part.
    const ExprId lack = choose(f32(-0x1.777a5cp-25), f32(-0x1.777a5cp-26), f32(0));
    const ExprId part = b_.fma(b_.mul(t, z), q, lack);
    const ExprId base = choose(f32(0x1.921fb6p0), f32(0x1.921fb6p-1), f32(0));
    return with_sign(b_.add(base, b_.add(t, part)), x);
  }

  // log(x) + more, where more is small beside it.
  ExprId log_and_more(ExprId x, ExprId more) {
    const ExprId tiny = b_.lt(x, f32(0x1p-126));
    const ExprId scaled = b_.select(tiny, b_.mul(x, f32(0x1p23)), x);
    const ExprId bits = b_.add(b_.bitcast(scaled, DType::i32), i32(0x3f800000 - 0x3f3504f3));
    const ExprId exponent =
        b_.add(b_.binary(ExprOp::shr, bits, i32(23)), b_.select(tiny, i32(-127 - 23), i32(-127)));
    const ExprId e = b_.cast(exponent, DType::f32);
    const ExprId mantissa = b_.add(b_.logical_and(bits, i32(0x7fffff)), i32(0x3f3504f3));
    const ExprId f = b_.sub(b_.bitcast(mantissa, DType::f32), f32(1));

    const ExprId q =
        polynomial(f, {0x1.555546p-2, -0x1.ffffeep-3, 0x1.99a546p-3, -0x1.5562ep-3, 0x1.2332b4p-3,
                       -0x1.fb438ep-4, 0x1.e651a4p-4, -0x1.e2e7cep-4, 0x1.1b3e5ap-4});
    const ExprId z = b_.mul(f, f);
    ExprId y = b_.fma(e, f32(-0x1.05c610p-29), b_.fma(b_.mul(f, z), q, more));
    y = b_.add(b_.fma(f32(-0.5), z, y), f);
    y = b_.fma(e, f32(0x1.62e430p-1), y);

    y = b_.select(b_.lt(x, f32(kInfinity)), y, x);  // infinity and NaN
    y = b_.select(b_.lt(x, f32(0)), f32(kNan), y);
    return b_.select(b_.eq(x, f32(0)), f32(-kInfinity), y);
  }

  ExprId erf(ExprId x) {
    const ExprId z = b_.mul(x, x);
    const ExprId q = polynomial(z, {0x1.06eba8p-3, -0x1.812744p-2, 0x1.ce2e1cp-4, -0x1.b80ff2p-6,
                                    0x1.54d42ap-8, -0x1.aaa2d6p-11, 0x1.5e062cp-14});
    const ExprId small = b_.fma(x, q, x);

    const ExprId a = b_.min(b_.unary(ExprOp::abs, x), f32(3.95));
    const ExprId u =
        polynomial(a, {-0x1.20e8c4p0, -0x1.4570acp-1, -0x1.af27fp-4, 0x1.737e3cp-6, -0x1.800fc8p-9,
                       0x1.9ff6e8p-15, 0x1.7e5cd2p-15, -0x1.4b65dcp-18});
    const ExprId large = with_sign(b_.sub(f32(1), exp_inside(b_.mul(a, u))), x);
    return b_.select(b_.lt(f32(0.925), a), large, small);
  }

  // exp(-a^2) / (1 + 2a) * q for a = |x|, where q is close to 1; 2 minus that for negative x. The
  // square is rounded, and its rest corrects the power.
  ExprId erfc(ExprId x) {
    const ExprId magnitude = b_.unary(ExprOp::abs, x);
    const ExprId a = b_.min(magnitude, f32(9.3));
    const ExprId square = b_.unary(ExprOp::neg, b_.mul(a, a));
    const ExprId rest = b_.fma(a, a, square);
    const ExprId p = b_.div(b_.sub(a, f32(4)), b_.add(a, f32(4)));
    const ExprId q = polynomial(
        p, {0x1.3ba592p0, -0x1.1df130p-3, 0x1.f7f430p-7, 0x1.16c676p-4, -0x1.9df4c2p-4,
            0x1.8171fep-4, -0x1.0d9fc0p-4, 0x1.2827d4p-5, -0x1.2e4dc6p-6, 0x1.1c5b84p-8});
    const ExprId scaled = b_.div(q, b_.fma(f32(2), a, f32(1)));
    const ExprId inside = b_.mul(exp_inside(square), scaled);
    const ExprId exact = b_.fma(b_.unary(ExprOp::neg, rest), inside, inside);
    const ExprId y = b_.select(b_.lt(f32(9.3), magnitude), f32(0), exact);
    return b_.select(b_.lt(x, f32(0)), b_.sub(f32(2), y), y);
  }

  ExprId sin(ExprId x) { return b_.select(b_.eq(x, f32(0)), x, sin_shifted(x, 0)); }
  ExprId cos(ExprId x) { return sin_shifted(x, 1); }

  ExprId tan(ExprId x) {
    const Circle c = on_circle(x);
    const ExprId odd = b_.eq(b_.logical_and(c.turns, i32(1)), i32(1));
    const ExprId minus = b_.unary(ExprOp::neg, c.cosine);
    const ExprId y = b_.div(b_.select(odd, minus, c.sine), b_.select(odd, c.sine, c.cosine));
    return b_.select(b_.eq(x, f32(0)), x, y);
  }

  // In double: x^y = 2^(y log2 x).
  ExprId pow(ExprId x, ExprId y) {
    const ExprId a = b_.unary(ExprOp::abs, x);
    ExprId v = b_.mul(b_.cast(y, DType::f64), log2_of_f64(b_.cast(a, DType::f64)));
    v = b_.max(b_.min(v, f64(1000)), f64(-1000));
    const ExprId t = b_.add(v, f64(kRound64));
    const ExprId r = b_.mul(b_.sub(v, b_.sub(t, f64(kRound64))), f64(0x1.62e42fefa39efp-1));
    const ExprId q =
        polynomial(r, {0x1.ffffffffee6d2p-2, 0x1.555555554cf75p-3, 0x1.55555581ec550p-5,
                       0x1.1111112ebee6ep-7, 0x1.6c1635296f157p-10, 0x1.a01970d38eaacp-13,
                       0x1.a17543378ab05p-16, 0x1.73055ce14d5dap-19});
    const ExprId p = b_.fma(b_.fma(q, r, f64(1)), r, f64(1));
    const ExprId n = b_.add(b_.bitcast(t, DType::i64), i64(1023));
    const ExprId power = b_.bitcast(b_.binary(ExprOp::shl, n, i64(52)), DType::f64);
    return pow_cases(x, y, a, b_.cast(b_.mul(p, power), DType::f32));
  }

 private:
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

  ExprId f32(double value) { return b_.constant(DType::f32, value); }
  ExprId f64(double value) { return b_.constant(DType::f64, value); }
  ExprId i32(std::int64_t value) { return b_.integer(value, DType::i32); }
  ExprId i64(std::int64_t value) { return b_.integer(value); }

  // c[0] + c[1] x + c[2] x^2 ...
  ExprId polynomial(ExprId x, std::initializer_list<double> c) {
    const DType type = b_.type(x);
    const double* p = c.end();
    ExprId sum = b_.constant(type, *--p);
    while (p != c.begin()) sum = b_.fma(sum, x, b_.constant(type, *--p));
    return sum;
  }

  ExprId with_sign(ExprId value, ExprId sign) {
    const ExprId digits = b_.logical_and(b_.bitcast(value, DType::i32), i32(0x7fffffff));
    const ExprId bit = b_.logical_and(b_.bitcast(sign, DType::i32), i32(INT32_MIN));
    return b_.bitcast(b_.logical_or(digits, bit), DType::f32);
  }

  // x = n ln 2 + r; n stands in the low bits of t.
  struct Reduced {
    ExprId t;
    ExprId r;
  };
  Reduced reduce_exp(ExprId x) {
    const ExprId t = b_.fma(x, f32(0x1.715476p0), f32(kRound32));
    const ExprId n = b_.sub(t, f32(kRound32));
    const ExprId r = b_.fma(n, f32(-0x1.62e430p-1), x);
    return {t, b_.fma(n, f32(0x1.05c610p-29), r)};
  }

  // n, at the place of a float's exponent.
  ExprId shifted(ExprId t) { return b_.binary(ExprOp::shl, b_.bitcast(t, DType::i32), i32(23)); }

  // exp where the result is a normal number; elsewhere, and for NaN, anything.
  ExprId exp_inside(ExprId x) {
    const Reduced a = reduce_exp(x);
    const ExprId q =
        polynomial(a.r, {0x1.p-1, 0x1.55548ep-3, 0x1.55545ep-5, 0x1.123bep-7, 0x1.6db4e4p-10});
    const ExprId p = b_.fma(b_.fma(q, a.r, f32(1)), a.r, f32(1));
    return b_.bitcast(b_.add(b_.bitcast(p, DType::i32), shifted(a.t)), DType::f32);
  }

  // Sine and cosine of r, where x = turns * pi/2 + r and |r| <= pi/4. Reduced in double.
  struct Circle {
    ExprId sine;
    ExprId cosine;
    ExprId turns;
  };
  Circle on_circle(ExprId x) {
    const ExprId wide = b_.cast(x, DType::f64);
    const ExprId t = b_.fma(wide, f64(0x1.45f306dc9c883p-1), f64(kRound64));
    const ExprId n = b_.sub(t, f64(kRound64));
    ExprId r = b_.fma(n, f64(-0x1.921fb54442d18p0), wide);
    r = b_.cast(b_.fma(n, f64(-0x1.1a62633145c07p-54), r), DType::f32);
    r = b_.max(b_.min(r, f32(0.7861)), f32(-0.7861));
    const ExprId turns = b_.cast(b_.bitcast(t, DType::i64), DType::i32);

    const ExprId z = b_.mul(r, r);
    const ExprId sq =
        polynomial(z, {-0x1.555556p-3, 0x1.111108p-7, -0x1.a00f94p-13, 0x1.6cd5ecp-19});
    const ExprId sine = b_.fma(b_.mul(r, z), sq, r);
    const ExprId cq = polynomial(z, {0x1.55554ap-5, -0x1.6c0c82p-10, 0x1.99ff3ep-16});
    const ExprId cosine = b_.fma(b_.mul(z, z), cq, b_.fma(f32(-0.5), z, f32(1)));
    return {sine, cosine, turns};
  }

  // sin(x + quarter * pi/2).
  ExprId sin_shifted(ExprId x, std::int64_t quarter) {
    const Circle c = on_circle(x);
    const ExprId turns = b_.add(c.turns, i32(quarter));
    const ExprId even = b_.eq(b_.logical_and(turns, i32(1)), i32(0));
    const ExprId value = b_.select(even, c.sine, c.cosine);
    const ExprId sign = b_.binary(ExprOp::shl, b_.logical_and(turns, i32(2)), i32(30));
    const ExprId bits = b_.binary(ExprOp::bit_xor, b_.bitcast(value, DType::i32), sign);
    return b_.bitcast(bits, DType::f32);
  }

  ExprId log2_of_f64(ExprId x) {
    constexpr std::int64_t kHalfRoot = 0x3fe6a09e667f3bcd;  // bits of sqrt(1/2)
    const ExprId bits = b_.add(b_.bitcast(x, DType::i64), i64(0x3ff0000000000000 - kHalfRoot));
    const ExprId e = b_.add(b_.binary(ExprOp::shr, bits, i64(52)), i64(-1023));
    const ExprId digits = b_.add(b_.logical_and(bits, i64(0xfffffffffffff)), i64(kHalfRoot));
    const ExprId m = b_.bitcast(digits, DType::f64);
    const ExprId s = b_.div(b_.sub(m, f64(1)), b_.add(m, f64(1)));
    const ExprId z = b_.mul(s, s);
    const ExprId q =
        polynomial(z, {0x1.5555555553908p-1, 0x1.999999a2ac412p-2, 0x1.24924166b682dp-2,
                       0x1.c72282225fbcap-3, 0x1.732acf9d828b0p-3, 0x1.588845a22f4a7p-3});
    const ExprId l = b_.fma(b_.mul(s, z), q, b_.add(s, s));
    return b_.fma(l, f64(0x1.71547652b82fep0), b_.cast(e, DType::f64));
  }

  // Everything about pow that the formula for finite x > 0 does not give. a is |x|.
  ExprId pow_cases(ExprId x, ExprId y, ExprId a, ExprId value) {
    const auto round = [&](ExprId v) { return b_.unary(ExprOp::round_even, v); };
    const ExprId half = b_.mul(y, f32(0.5));
    const ExprId whole = b_.eq(round(y), y);
    const ExprId odd = b_.logical_and(whole, b_.binary(ExprOp::ne, round(half), half));
    const ExprId below = b_.lt(y, f32(0));
    const ExprId inf = f32(kInfinity);

    value = b_.select(b_.eq(a, f32(1)), f32(1), value);
    value = b_.select(b_.eq(a, f32(0)), b_.select(below, inf, f32(0)), value);
    value = b_.select(b_.eq(a, inf), b_.select(below, f32(0), inf), value);
    value = b_.select(odd, with_sign(value, x), value);
    const ExprId broken = b_.logical_and(b_.logical_and(b_.lt(x, f32(0)), b_.lt(a, inf)),
                                         b_.unary(ExprOp::logical_not, whole));
    value = b_.select(broken, f32(kNan), value);
    const ExprId numbers = b_.logical_and(b_.eq(x, x), b_.eq(y, y));
    value = b_.select(numbers, value, b_.add(x, y));
    return b_.select(b_.logical_or(b_.eq(y, f32(0)), b_.eq(x, f32(1))), f32(1), value);
  }

  Builder& b_;
};

ExprId expanded(Maths& maths, ExprOp op, ExprId a, ExprId b) {
  switch (op) {
    case ExprOp::exp: return maths.exp(a);
    case ExprOp::log: return maths.log(a);
    case ExprOp::tanh: return maths.tanh(a);
    case ExprOp::sigmoid: return maths.sigmoid(a);
    case ExprOp::erf: return maths.erf(a);
    case ExprOp::erfc: return maths.erfc(a);
    case ExprOp::sin: return maths.sin(a);
    case ExprOp::cos: return maths.cos(a);
    case ExprOp::tan: return maths.tan(a);
    case ExprOp::atan: return maths.atan(a);
    case ExprOp::log1p: return maths.log1p(a);
    case ExprOp::expm1: return maths.expm1(a);
    case ExprOp::pow: return maths.pow(a, b);
    default: return kNoExpr;
  }
}

bool to_expand(const Expr& e) {
  return e.type == DType::f32 &&
         ((e.op >= ExprOp::exp && e.op <= ExprOp::expm1) || e.op == ExprOp::pow);
}

void replace(const std::vector<ExprId>& now, ExprId& id) {
  if (id != kNoExpr) id = now[static_cast<std::size_t>(id)];
}

void replace(const std::vector<ExprId>& now, Stmt& s) {
  for (ExprId* id : {&s.extent, &s.value, &s.index, &s.guard}) replace(now, *id);
  for (Stmt& inner : s.body) replace(now, inner);
}

}  // namespace

void expand_math(Kernel& kernel) {
  Kernel result;
  result.name = std::move(kernel.name);
  result.buffers = std::move(kernel.buffers);
  result.sizes = std::move(kernel.sizes);
  result.loop_vars = kernel.loop_vars;
  result.accumulators = kernel.accumulators;
  result.root = std::move(kernel.root);

  Builder builder(result);
  Maths maths(builder);
  std::vector<ExprId> now;  // new number of each expression
  for (Expr e : kernel.exprs()) {
    for (ExprId& arg : e.args) replace(now, arg);
    now.push_back(to_expand(e) ? expanded(maths, e.op, e.args[0], e.args[1]) : result.add(e));
  }
  for (Buffer& b : result.buffers) replace(now, b.scratch_elements);
  replace(now, result.root);
  kernel = std::move(result);
}

}  // namespace trireme::kernel_ir
