// Fourier transforms in a Session: sizes of all kinds against the definition, symbols, elements
// that are not finite, and errors. tests/conformance compares axes, sizes, norms and gradients with
// PyTorch; python/tests with NumPy.

#include "trireme/fft.h"

#include <gmock/gmock.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <numbers>

#include "base/testing/error.h"
#include "trireme/functions.h"
#include "trireme/session.h"
#include "trireme/shorthand.h"

namespace trireme {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsNan;
using Numbers = std::vector<double>;

Numbers transformed(const Shape& symbols, const std::vector<std::int64_t>& shape,
                    const Numbers& numbers, const std::function<Value(const Value&)>& build,
                    DType dtype = f64) {
  Program program;
  const Value x = program.input("x", dtype, symbols);
  const Value y = cast(build(x), f64);
  Session session(program, {.threads = 2});
  const Tensor fed = Tensor::from(shape, numbers).cast(dtype);
  return session.run({{"x", fed}}, {y})[0].to_vector<double>();
}

Numbers waves(std::int64_t count) {
  Numbers x;
  for (std::int64_t i = 0; i < count; ++i) {
    x.push_back(std::sin(1.7 * static_cast<double>(i * i % 1009)) + 0.2);
  }
  return x;
}

// The sums from their definition; the angles are exact multiples of a turn.
Numbers definition(const Numbers& x, double sign) {
  const std::size_t n = x.size() / 2;
  Numbers y(x.size());
  for (std::size_t k = 0; k < n; ++k) {
    std::complex<double> total;
    for (std::size_t j = 0; j < n; ++j) {
      const double turn = static_cast<double>(j * k % n) / static_cast<double>(n);
      total += std::complex<double>(x[2 * j], x[2 * j + 1]) *
               std::polar(1.0, sign * 2 * std::numbers::pi * turn);
    }
    y[2 * k] = total.real(), y[2 * k + 1] = total.imag();
  }
  return y;
}

auto near(const Numbers& expected, double tolerance) {
  return testing::Pointwise(testing::DoubleNear(tolerance), expected);
}

// Powers of 2, products of small primes, and sizes with a prime factor that needs a convolution.
TEST(Fft, EveryKindOfSize) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 16, 30, 47, 49, 53, 97, 106, 360, 509, 1018}) {
    const Numbers x = waves(2 * n);
    const Numbers y = definition(x, -1);
    EXPECT_THAT(transformed({n, 2}, {n, 2}, x, [](auto& v) { return fft(v); }), near(y, 1e-10))
        << n;
    EXPECT_THAT(transformed({n, 2}, {n, 2}, y, [](auto& v) { return ifft(v); }), near(x, 1e-12))
        << n;
    Numbers real, complex;
    for (std::int64_t j = 0; j < n; ++j) {
      const double number = x[static_cast<std::size_t>(j)];
      real.push_back(number);
      complex.push_back(number);
      complex.push_back(0);
    }
    complex = definition(complex, -1);
    complex.resize(static_cast<std::size_t>(n / 2 * 2 + 2));
    EXPECT_THAT(transformed({n}, {n}, real, [](auto& v) { return rfft(v); }), near(complex, 1e-10))
        << n;
    EXPECT_THAT(transformed({n / 2 + 1, 2}, {n / 2 + 1, 2}, complex,
                            [n](auto& v) { return irfft(v, {.n = n}); }),
                near(real, 1e-12))
        << n;
  }
}

TEST(Fft, RowsOfSymbolicNumber) {
  const Numbers x = waves(2 * 3 * 7 * 5);
  const auto round_trip = [](const Value& v) { return irfft2(rfft2(v), {.s = {7, 5}}); };
  EXPECT_THAT(transformed({batch, 3, 7, 5}, {2, 3, 7, 5}, x, round_trip), near(x, 1e-12));
  EXPECT_THAT(transformed({batch, 3, 7, 5}, {2, 3, 7, 5}, x, round_trip, f32), near(x, 1e-5));
  EXPECT_TRUE(transformed({batch, 3, 7, 5}, {0, 3, 7, 5}, {}, round_trip).empty());
}

TEST(Fft, EachRowAlone) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    const Numbers y = transformed({batch, 4}, {2, 4}, {1, bad, 3, 4, 1, 2, 3, 4},
                                  [](auto& v) { return rfft(v); });
    EXPECT_THAT(Numbers(y.begin(), y.begin() + 6), Each(IsNan()));
    EXPECT_THAT(Numbers(y.begin() + 6, y.end()), near({10, 0, -2, 2, -2, 0}, 1e-14));
  }
  // The sum of finite numbers may overflow.
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(transformed({2}, {2}, {largest, largest}, [](auto& v) { return rfft(v); })[0],
            kInfinity);
}

TEST(Fft, IgnoresImaginaryPartsThatRealNumbersCannotHave) {
  EXPECT_THAT(transformed({3, 2}, {3, 2}, {10, 7, -2, 2, -2, 9}, [](auto& v) { return irfft(v); }),
              near({1, 2, 3, 4}, 1e-14));
}

TEST(Fft, Refuses) {
  Program program;
  const Value x = program.input("x", f32, {batch, 3}), pair = program.input("pair", f32, {4, 2});
  const Value i = program.input("i", i64, {4, 2}), none = program.input("none", f32, {0, 2});
  const auto refusal = [](const auto& f) { return error_of(ErrorKind::usage, f); };
  EXPECT_THAT(refusal([&] { fft(x); }),
              testing::AllOf(HasSubstr("complex numbers [..., 2]"), HasSubstr("fft_test.cc:")));
  EXPECT_THAT(refusal([&] { rfft(x, {.axis = 0}); }), HasSubstr("axis 0 has no constant size"));
  EXPECT_THAT(refusal([&] { fft(pair, {.axis = 1}); }), HasSubstr("there is no axis 1"));
  EXPECT_THAT(refusal([&] { ifft(i); }), HasSubstr("f32 or f64"));
  EXPECT_THAT(refusal([&] { fft(none); }), HasSubstr("no points"));
  EXPECT_THAT(refusal([&] { fft(pair, {.n = -1}); }), HasSubstr("n is -1"));
  EXPECT_THAT(refusal([&] { irfft(program.input("one", f32, {1, 2})); }), HasSubstr("no points"));
  EXPECT_THAT(refusal([&] { rfft2(pair, {.axes = {1}}); }), HasSubstr("two axes"));
  EXPECT_THAT(refusal([&] { rfft2(pair, {.axes = {1, -1}}); }), HasSubstr("the same"));
  EXPECT_THAT(refusal([&] { rfft2(pair, {.s = {4}}); }), HasSubstr("two axes"));
  EXPECT_THAT(refusal([&] { inverse_real_fft(pair, {.size = 8}); }), HasSubstr("size 8"));
}

}  // namespace
}  // namespace trireme
