// The f32 maths of kernel_ir/math.cc over the float range, against the C library in double.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "codegen/codegen.h"
#include "codegen/testing/kernels.h"

namespace trireme::codegen {
namespace {

using kernel_ir::BufferRole;
using kernel_ir::Builder;
using kernel_ir::ExprOp;
using kernel_ir::Kernel;
using kernel_ir::make_loop;
using kernel_ir::make_store;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kSmallestNormal = 0x1p-126;

// y = op(x) over arrays.
class Function {
 public:
  explicit Function(ExprOp op) {
    const Kernel kernel = testing::unary_map(op, f32, host_target().lanes(f32));
    compiled_ = make_llvm_codegen({})->compile({&kernel})[0];
  }
  std::vector<float> operator()(std::vector<float> x) const {
    std::vector<float> y(x.size());
    void* buffers[] = {x.data(), y.data()};
    const std::int64_t sizes[] = {static_cast<std::int64_t>(x.size())};
    compiled_->run(buffers, sizes, 0, (sizes[0] + 1023) / 1024);
    return y;
  }
  float operator()(float x) const { return (*this)(std::vector<float>{x})[0]; }

 private:
  std::shared_ptr<CompiledKernel> compiled_;
};

// The distance in units in the last place of the true value as a float.
double ulps(float got, double expected) {
  if (std::isnan(expected)) return std::isnan(got) ? 0 : kInfinity;
  const auto rounded = static_cast<float>(expected);
  if (std::isinf(got) || std::isinf(rounded) || std::isnan(got)) {
    return got == rounded ? 0 : kInfinity;
  }
  const int exponent = expected == 0 ? -126 : std::max(std::ilogb(expected), -126);
  return std::fabs(static_cast<double>(got) - expected) / std::ldexp(1.0, exponent - 23);
}

struct Sweep {
  double largest = 0;
  float where = 0;
};

using Reference = double (*)(double);

// Every `step`th float with |x| in [low, high] whose true result is a normal number or, if
// `subnormal`, any.
Sweep sweep(ExprOp op, Reference reference, float low, float high, bool subnormal = false,
            std::uint32_t step = 1019) {
  const Function function(op);
  std::vector<float> x;
  for (std::uint64_t bits = std::bit_cast<std::uint32_t>(low);
       bits <= std::bit_cast<std::uint32_t>(high); bits += step) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    x.push_back(-x.back());
  }
  const std::vector<float> y = function(x);
  Sweep result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = reference(x[i]);
    if (!subnormal && std::fabs(expected) < kSmallestNormal) {
      EXPECT_LE(std::fabs(y[i]), kSmallestNormal) << name_of(op) << " of " << x[i];
      continue;
    }
    const double error = ulps(y[i], expected);
    if (error > result.largest) result = {error, x[i]};
  }
  std::printf("%-8s |x| in [%g, %g]: %.3f ulp at %.9g\n", name_of(op), static_cast<double>(low),
              static_cast<double>(high), result.largest, static_cast<double>(result.where));
  return result;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Maths, WithinTheStatedBounds) {
  EXPECT_LE(sweep(ExprOp::exp, std::exp, 0, kInfinity).largest, 1.0);
  EXPECT_LE(sweep(ExprOp::log, std::log, 0, kInfinity, true).largest, 1.0);
  EXPECT_LE(sweep(ExprOp::tanh, std::tanh, 0, kInfinity, true).largest, 1.4);
  EXPECT_LE(sweep(ExprOp::sigmoid, sigmoid, 0, kInfinity).largest, 2.3);
  EXPECT_LE(sweep(ExprOp::erf, std::erf, 0, kInfinity, true).largest, 1.2);
  EXPECT_LE(sweep(ExprOp::erfc, std::erfc, 0, kInfinity).largest, 5.5);
  EXPECT_LE(sweep(ExprOp::sin, std::sin, 0, 0x1p40f, true).largest, 1.6);
  EXPECT_LE(sweep(ExprOp::cos, std::cos, 0, 0x1p40f, true).largest, 1.6);
  EXPECT_LE(sweep(ExprOp::tan, std::tan, 0, 0x1p40f, true).largest, 3.5);
  EXPECT_LE(sweep(ExprOp::atan, std::atan, 0, kInfinity, true).largest, 1.9);
  EXPECT_LE(sweep(ExprOp::log1p, std::log1p, 0, kInfinity, true).largest, 1.1);
  EXPECT_LE(sweep(ExprOp::expm1, std::expm1, 0, kInfinity, true).largest, 1.6);
}

TEST(Maths, DenselyWhereItIsHot) {
  EXPECT_LE(sweep(ExprOp::exp, std::exp, 0.25f, 4, false, 37).largest, 1.0);
  EXPECT_LE(sweep(ExprOp::tanh, std::tanh, 0.125f, 10, false, 37).largest, 1.4);
  EXPECT_LE(sweep(ExprOp::log, std::log, 0.5f, 2, false, 37).largest, 1.0);
  EXPECT_LE(sweep(ExprOp::erf, std::erf, 0.125f, 4, false, 37).largest, 1.2);
  EXPECT_LE(sweep(ExprOp::erfc, std::erfc, 0.125f, 9.5f, false, 37).largest, 5.5);
  EXPECT_LE(sweep(ExprOp::tan, std::tan, 0.125f, 7, false, 37).largest, 3.5);
  EXPECT_LE(sweep(ExprOp::atan, std::atan, 0.125f, 8, false, 37).largest, 1.9);
  EXPECT_LE(sweep(ExprOp::log1p, std::log1p, 0x1p-26f, 4, false, 37).largest, 1.1);
  EXPECT_LE(sweep(ExprOp::expm1, std::expm1, 0x1p-26f, 4, false, 37).largest, 1.6);
}

TEST(Maths, SpecialValues) {
  const Function exp(ExprOp::exp);
  EXPECT_EQ(exp(0), 1);
  EXPECT_EQ(exp(-kInfinity), 0);
  EXPECT_EQ(exp(kInfinity), kInfinity);
  EXPECT_EQ(exp(89), kInfinity);
  EXPECT_LT(exp(88.72283f), kInfinity);
  EXPECT_EQ(exp(-104), 0);
  EXPECT_TRUE(std::isnan(exp(kNan)));

  const Function log(ExprOp::log);
  EXPECT_EQ(log(1), 0);
  EXPECT_EQ(log(0), -kInfinity);
  EXPECT_EQ(log(-0.0f), -kInfinity);
  EXPECT_EQ(log(kInfinity), kInfinity);
  for (const float x : {-1.0f, -kInfinity, -1e-45f, kNan}) EXPECT_TRUE(std::isnan(log(x))) << x;

  const Function erfc(ExprOp::erfc);
  EXPECT_EQ(erfc(0), 1);
  EXPECT_EQ(erfc(-0.0f), 1);
  EXPECT_EQ(erfc(kInfinity), 0);
  EXPECT_EQ(erfc(-kInfinity), 2);
  EXPECT_TRUE(std::isnan(erfc(kNan)));

  for (const ExprOp op : {ExprOp::tanh, ExprOp::erf}) {
    const Function function(op);
    EXPECT_EQ(function(kInfinity), 1);
    EXPECT_EQ(function(-kInfinity), -1);
    EXPECT_TRUE(std::signbit(function(-0.0f)));
    EXPECT_FALSE(std::signbit(function(0.0f)));
    EXPECT_TRUE(std::isnan(function(kNan)));
  }

  const Function logistic(ExprOp::sigmoid);
  EXPECT_EQ(logistic(0), 0.5f);
  EXPECT_EQ(logistic(kInfinity), 1);
  EXPECT_EQ(logistic(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(logistic(kNan)));

  for (const ExprOp op : {ExprOp::sin, ExprOp::cos}) {
    const Function function(op);
    for (const float x : {kInfinity, -kInfinity, kNan}) EXPECT_TRUE(std::isnan(function(x)));
    for (const float x : {1e20f, -3e38f, 1e35f}) EXPECT_LE(std::fabs(function(x)), 1);
  }
  EXPECT_TRUE(std::signbit(Function(ExprOp::sin)(-0.0f)));
  for (const ExprOp op : {ExprOp::tan, ExprOp::atan, ExprOp::log1p, ExprOp::expm1}) {
    const Function function(op);
    EXPECT_TRUE(std::isnan(function(kNan))) << name_of(op);
    EXPECT_EQ(function(0), 0) << name_of(op);
    EXPECT_FALSE(std::signbit(function(0.0f))) << name_of(op);
    EXPECT_TRUE(std::signbit(function(-0.0f))) << name_of(op);
    EXPECT_EQ(function(1e-40f), 1e-40f) << name_of(op);
  }
  const Function log1p(ExprOp::log1p);
  EXPECT_EQ(log1p(-1), -kInfinity);
  EXPECT_EQ(log1p(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(log1p(-1.5f)));
  EXPECT_TRUE(std::isnan(log1p(-kInfinity)));
  const Function expm1(ExprOp::expm1);
  EXPECT_EQ(expm1(-kInfinity), -1);
  EXPECT_EQ(expm1(kInfinity), kInfinity);
  EXPECT_EQ(expm1(89), kInfinity);
  EXPECT_LT(expm1(88.72283f), kInfinity);
  const Function atan(ExprOp::atan);
  EXPECT_EQ(atan(kInfinity), 0x1.921fb6p0f);
  EXPECT_EQ(atan(-kInfinity), -0x1.921fb6p0f);
  for (const float x : {kInfinity, -kInfinity}) EXPECT_TRUE(std::isnan(Function(ExprOp::tan)(x)));
  EXPECT_EQ(Function(ExprOp::cos)(0), 1);
}

// z = pow(x, y) over arrays.
std::vector<float> pow_of(std::vector<float> x, std::vector<float> y) {
  Kernel k;
  k.buffers = {
      {f32, BufferRole::input, "x"}, {f32, BufferRole::input, "y"}, {f32, BufferRole::output, "z"}};
  k.sizes = {"n"};
  k.loop_vars = 2;
  Builder b(k);
  const auto i = b.loop_var(1);
  k.root = make_loop(
      kernel_ir::LoopKind::parallel, 0, b.integer(1),
      {make_loop(kernel_ir::LoopKind::vector, 1, b.size(0),
                 {make_store(2, i, b.binary(ExprOp::pow, b.load(0, i), b.load(1, i)))}, 8)});
  auto compiled = make_llvm_codegen({})->compile({&k})[0];
  std::vector<float> z(x.size());
  void* buffers[] = {x.data(), y.data(), z.data()};
  const std::int64_t sizes[] = {static_cast<std::int64_t>(x.size())};
  compiled->run(buffers, sizes, 0, 1);
  return z;
}

TEST(Maths, PowIsCorrectlyRoundedNearly) {
  std::vector<float> x;
  std::vector<float> y;
  for (std::uint64_t bits = 0; bits < 0x7f800000; bits += 0x10f0b) {
    for (const float power : {0.5f, -0.5f, 1.5f, 3.0f, -7.0f, 0.1f, 12.25f, 1e-3f, -30.5f, 1e6f}) {
      x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      y.push_back(power);
    }
  }
  const std::vector<float> z = pow_of(x, y);
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, ulps(z[i], std::pow(double{x[i]}, double{y[i]})));
  }
  std::printf("pow: %.3f ulp\n", largest);
  EXPECT_LE(largest, 0.51);
}

TEST(Maths, PowOfSpecialValuesIsThatOfC) {
  const float values[] = {0.0f,   -0.0f,     1,          -1,     2,     -2,   0.5f,
                          -0.5f,  3,         -3,         1e-45f, 1e38f, 1e6f, 8388609,
                          -1e38f, kInfinity, -kInfinity, kNan,   2.5f,  -2.5f};
  std::vector<float> x;
  std::vector<float> y;
  for (const float a : values) {
    for (const float b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  const std::vector<float> z = pow_of(x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float expected = std::pow(x[i], y[i]);
    const std::string what = std::to_string(x[i]) + " ^ " + std::to_string(y[i]);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(z[i])) << what << " gave " << z[i];
    } else {
      EXPECT_FLOAT_EQ(z[i], expected) << what;
      EXPECT_EQ(std::signbit(z[i]), std::signbit(expected)) << what;
    }
  }
}

}  // namespace
}  // namespace trireme::codegen
