// tests/conformance compares values and gradients with PyTorch. These tests cover NaN, infinity,
// huge and tiny numbers, ties, no elements, symbolic sizes, gradients at kinks, and errors.

#include "trireme/numeric.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

#include "nn/testing/running.h"
#include "transforms/autodiff.h"

namespace trireme::nn {
namespace {

using ops::RefTensor;
using ops::RefTensors;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Function = std::function<Value(const Value&)>;

std::vector<double> on(const std::vector<double>& x, const Function& function, DType dtype = f64,
                       bool symbolic = false) {
  Program program;
  const auto n = static_cast<std::int64_t>(x.size());
  const Value y = function(program.input("x", dtype, {symbolic ? batch : Dim(n)}));
  RefTensors none;
  return run(program, y, {{"x", tensor({n}, x)}}, none).data;
}

std::vector<double> gradient_on(const std::vector<double>& x, const Function& function) {
  Program program;
  const auto n = static_cast<std::int64_t>(x.size());
  const Value input = program.input("x", f64, {n});
  const Value total = sum(function(input));
  const Value gradient(transforms::gradients(total.get(), {input.get()})[0]);
  RefTensors none;
  return run(program, gradient, {{"x", tensor({n}, x)}}, none).data;
}

TEST(Numeric, VarianceOfShiftedNumbers) {
  const auto two = [](auto& x) { return variance(x, {.ddof = 1}); };
  EXPECT_THAT(on({1e9 + 1, 1e9 + 2, 1e9 + 3}, two), ElementsAre(1));
  EXPECT_THAT(on({1e9 + 1, 1e9 + 2, 1e9 + 3}, two, f64, true), ElementsAre(1));
  EXPECT_THAT(on({5}, two), ElementsAre(IsNan()));
  EXPECT_THAT(on({}, [](auto& x) { return variance(x); }), ElementsAre(IsNan()));
  EXPECT_THAT(on({5}, [](auto& x) { return stddev(x); }), ElementsAre(0));
  EXPECT_THAT(on({1, NAN}, [](auto& x) { return stddev(x); }), ElementsAre(IsNan()));
  EXPECT_THAT(gradient_on({3, 3}, [](auto& x) { return stddev(x); }), ElementsAre(0, 0));
}

TEST(Numeric, LogsumexpAtTheEdges) {
  const auto f = [](auto& x) { return logsumexp(x); };
  EXPECT_THAT(on({-kInfinity, -kInfinity}, f), ElementsAre(-kInfinity));
  EXPECT_THAT(on({1, kInfinity, -kInfinity}, f), ElementsAre(kInfinity));
  EXPECT_THAT(on({1, NAN, kInfinity}, f), ElementsAre(IsNan()));
  EXPECT_THAT(on({}, f), ElementsAre(-kInfinity));
  EXPECT_THAT(on({}, f, f64, true), ElementsAre(-kInfinity));
  EXPECT_THAT(on({7}, f), ElementsAre(7));
  EXPECT_THAT(on({1e308, 1e308}, f), ElementsAre(1e308));
  EXPECT_THAT(on({-1e308, -1e308}, f), ElementsAre(-1e308));
  EXPECT_THAT(gradient_on({-kInfinity, 2}, f), ElementsAre(0, 1));
  EXPECT_THAT(gradient_on({-kInfinity, -kInfinity}, f), ElementsAre(0, 0));
  EXPECT_THAT(gradient_on({kInfinity, 0}, f), ElementsAre(0, 0));
  EXPECT_THAT(gradient_on({3, 3}, f), ElementsAre(0.5, 0.5));
}

TEST(Numeric, NormsOfZerosAndHugeNumbers) {
  for (const double p : {0.5, 1.0, 2.0, 3.0, kInfinity}) {
    const auto f = [p](auto& x) { return vector_norm(x, p); };
    EXPECT_THAT(on({0, 0}, f), ElementsAre(0)) << p;
    EXPECT_THAT(on({1, -kInfinity}, f), ElementsAre(kInfinity)) << p;
    EXPECT_THAT(on({1, NAN}, f), ElementsAre(IsNan())) << p;
    EXPECT_THAT(on({-4}, f), ElementsAre(DoubleNear(4, 1e-14))) << p;
    EXPECT_THAT(on({}, f), ElementsAre(0)) << p;
    EXPECT_THAT(gradient_on({0, 0}, f), ElementsAre(0, 0)) << p;
  }
  const auto cubes = [](auto& x) { return vector_norm(x, 3) / 1e300; };
  EXPECT_THAT(on({1e300, 0}, cubes), ElementsAre(1));
  EXPECT_THAT(on({0, 3, NAN}, [](auto& x) { return vector_norm(x, 0); }), ElementsAre(2));
}

TEST(Numeric, CumprodWithZeros) {
  EXPECT_THAT(on({2, 0, 3, 4}, [](auto& x) { return cumprod(x); }), ElementsAre(2, 0, 0, 0));
  EXPECT_THAT(on({2, 3, 4}, [](auto& x) { return cumprod(x); }, i64), ElementsAre(2, 6, 24));
  EXPECT_THAT(on({}, [](auto& x) { return cumprod(x); }), ElementsAre());
  // Derivatives of 2 + 2*0 + 2*0*3.
  EXPECT_THAT(gradient_on({2, 0, 3}, [](auto& x) { return cumprod(x); }), ElementsAre(1, 8, 0));
}

TEST(Numeric, SearchsortedWithTiesAndNan) {
  const std::vector<double> sorted{-kInfinity, 1, 1, 3, NAN};
  const auto search = [&](double v, bool right) {
    return on(sorted, [=](auto& x) { return searchsorted(x, full_like(sum(x), v), right); })[0];
  };
  EXPECT_EQ(search(1, false), 1);
  EXPECT_EQ(search(1, true), 3);
  EXPECT_EQ(search(-kInfinity, false), 0);
  EXPECT_EQ(search(kInfinity, false), 4);
  EXPECT_EQ(search(NAN, false), 4);
  EXPECT_EQ(search(NAN, true), 5);
  EXPECT_THAT(on({}, [](auto& x) { return searchsorted(x, full_like(sum(x), 1)); }),
              ElementsAre(0));
  EXPECT_THAT(
      on({1, 4, 4}, [](auto& x) { return searchsorted(x, x, true); }, i64), ElementsAre(1, 3, 3));
}

TEST(Numeric, UniqueElements) {
  const std::vector<double> x{3, NAN, 1, 3, NAN, 3};
  for (const bool symbolic : {false, true}) {
    const auto part = [&](Value Unique::* member) {
      return on(x, [=](auto& v) { return unique(v).*member; }, f64, symbolic);
    };
    EXPECT_THAT(part(&Unique::values), ElementsAre(1, 3, IsNan(), IsNan(), IsNan(), IsNan()));
    EXPECT_THAT(part(&Unique::counts), ElementsAre(1, 3, 2, 0, 0, 0));
    EXPECT_THAT(part(&Unique::inverse), ElementsAre(1, 2, 0, 1, 2, 1));
    EXPECT_THAT(part(&Unique::size), ElementsAre(3));
  }
  EXPECT_THAT(on({-kInfinity}, [](auto& v) { return unique(v).values; }), ElementsAre(-kInfinity));
  EXPECT_THAT(on({7, 7, 2}, [](auto& v) { return unique(v).values; }, i64), ElementsAre(2, 7, 7));
  EXPECT_THAT(on({}, [](auto& v) { return unique(v).size; }, f64, true), ElementsAre(0));
  EXPECT_THAT(gradient_on({5, 2, 5}, [](auto& v) { return slice(unique(v).values, {{0}, {2}}); }),
              ElementsAre(1, 1, 0));
}

TEST(Numeric, FloorDivideAsPythonDoes) {
  const auto by = [](double b) { return [b](auto& x) { return floor_divide(x, b); }; };
  EXPECT_THAT(on({7, -7, 0}, by(2)), ElementsAre(3, -4, 0));
  EXPECT_THAT(on({7, -7, 6}, by(-2)), ElementsAre(-4, 3, -3));
  EXPECT_THAT(on({7, -7, 6}, by(-2), i64), ElementsAre(-4, 3, -3));
  EXPECT_THAT(on({1, -1, 0}, by(0)), ElementsAre(kInfinity, -kInfinity, IsNan()));
  EXPECT_THAT(on({1, -1, 0}, by(0), i64), ElementsAre(0, 0, 0));
  EXPECT_THAT(on({1, kInfinity, NAN}, by(0.1)),
              ElementsAre(9, IsNan(), IsNan()));  // 1 // 0.1 is 9.0
  EXPECT_THAT(on({2, 3}, [](auto& x) { return floor_divide(7.0, x); }), ElementsAre(3, 2));
}

TEST(Numeric, LerpHitsItsEnds) {
  EXPECT_THAT(on({0, 1}, [](auto& w) { return lerp(1e20, 3.0, w); }), ElementsAre(1e20, 3));
  EXPECT_THAT(on({5}, [](auto& x) { return lerp(x, 1e-3, 1.0); }), ElementsAre(1e-3));
}

TEST(Numeric, HypotAtTheEdges) {
  const auto with = [](double b) { return [b](auto& x) { return hypot(x, b); }; };
  EXPECT_THAT(on({0, -3, 1e308}, with(0)), ElementsAre(0, 3, 1e308));
  EXPECT_THAT(on({3e-320, 3e200}, [](auto& x) { return hypot(x, x * (4.0 / 3)) / x; }),
              Each(DoubleNear(5.0 / 3, 1e-3)));
  EXPECT_THAT(on({NAN, kInfinity}, with(-kInfinity)), ElementsAre(kInfinity, kInfinity));
  EXPECT_THAT(on({NAN}, with(1)), ElementsAre(IsNan()));
  EXPECT_THAT(gradient_on({0, 3, -4}, with(0)), ElementsAre(0, 1, -1));
}

TEST(Numeric, LogaddexpAtTheEdges) {
  const auto with = [](double b) { return [b](auto& x) { return logaddexp(x, b); }; };
  EXPECT_THAT(on({-kInfinity, 2, kInfinity, NAN}, with(-kInfinity)),
              ElementsAre(-kInfinity, 2, kInfinity, IsNan()));
  EXPECT_THAT(on({-kInfinity, kInfinity}, with(kInfinity)), ElementsAre(kInfinity, kInfinity));
  EXPECT_THAT(on({1e300, -1e300}, with(0)), ElementsAre(1e300, 0));
  EXPECT_THAT(on({0}, with(0)), ElementsAre(DoubleNear(std::log(2), 1e-15)));
  EXPECT_THAT(gradient_on({0, 800, -800}, with(0)), ElementsAre(0.5, 1, 0));
  EXPECT_THAT(gradient_on({0}, [](auto& x) { return logaddexp(x, x); }), ElementsAre(1));
}

TEST(Numeric, FindsInfinity) {
  EXPECT_THAT(on({1, kInfinity, -kInfinity, NAN}, [](auto& x) { return is_inf(x); }),
              ElementsAre(0, 1, 1, 0));
}

TEST(Numeric, RejectsInvalidArguments) {
  const auto rejected = [](const Shape& shape, DType dtype, const auto& f) {
    Program program;
    const Value x = program.input("x", dtype, shape);
    return refusal_here([&] { f(x); });
  };
  EXPECT_THAT(rejected({2}, i64, [](auto& x) { variance(x); }), HasSubstr("must be f32 or f64"));
  EXPECT_THAT(rejected({2}, i64, [](auto& x) { logsumexp(x, 0); }), HasSubstr("f32 or f64"));
  EXPECT_THAT(rejected({2}, f32, [](auto& x) { logsumexp(x, 1); }), HasSubstr("axis"));
  EXPECT_THAT(rejected({2}, f32, [](auto& x) { vector_norm(x, -1); }), HasSubstr("at least 0"));
  EXPECT_THAT(rejected({2}, f32, [](auto& x) { vector_norm(x, NAN); }), HasSubstr("at least 0"));
  EXPECT_THAT(rejected({batch}, f32, [](auto& x) { cumprod(x); }), HasSubstr("constant size"));
  EXPECT_THAT(rejected({2, 2}, f32, [](auto& x) { searchsorted(x, x); }), HasSubstr("a vector"));
  EXPECT_THAT(rejected({2, 2}, f32, [](auto& x) { unique(x); }), HasSubstr("a vector"));
  EXPECT_THAT(refusal([] { hypot(1.0, 2.0); }), HasSubstr("hypot"));
}

}  // namespace
}  // namespace trireme::nn
