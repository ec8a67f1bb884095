// All patterns of the 16-bit floats against the formula of the format, in doubles.

#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/safetensors.h"
#include "trireme/error.h"
#include "trireme/tensor.h"

namespace trireme {
namespace {

struct Format {
  int exponent_bits, fraction_bits;
};
constexpr Format kBf16{8, 7}, kF16{5, 10};

// (-1)^sign * 1.fraction * 2^(exponent - bias), and what IEEE 754 says of the two ends.
double formula(Format format, unsigned bits) {
  const int max = (1 << format.exponent_bits) - 1, bias = max / 2;
  const unsigned fraction = bits & ((1u << format.fraction_bits) - 1);
  const int exponent = static_cast<int>(bits >> format.fraction_bits) & max;
  double value = 0;
  if (exponent == max) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - bias - format.fraction_bits);
  } else {
    value =
        std::ldexp(fraction + (1u << format.fraction_bits), exponent - bias - format.fraction_bits);
  }
  return bits >> 15 != 0 ? -value : value;
}

template <class Half>
void check_all(Format format, Half (*narrow)(float)) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const double value = formula(format, bits);
    const float wide = to_float(half);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      ASSERT_TRUE(std::isnan(to_float(narrow(wide)))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(wide), value) << bits;
    ASSERT_EQ(std::signbit(wide), std::signbit(value)) << bits;
    ASSERT_EQ(narrow(wide).bits, bits);
  }
}

// The middle between two neighbors rounds to the one whose last bit is 0. Infinity is the
// neighbor of the largest number.
template <class Half>
void check_rounding(Format format, Half (*narrow)(float)) {
  const unsigned infinity = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
  for (unsigned bits = 0; bits < infinity; ++bits) {
    const double low = formula(format, bits);
    const double gap =
        bits + 1 < infinity ? formula(format, bits + 1) - low : low - formula(format, bits - 1);
    const auto middle = static_cast<float>(low + gap / 2);
    if (static_cast<double>(middle) != low + gap / 2) continue;  // f32 has no such number
    const unsigned even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(narrow(middle).bits, even) << bits;
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0f)).bits, bits);
    ASSERT_EQ(narrow(std::nextafter(middle, INFINITY)).bits, bits + 1);
    ASSERT_EQ(narrow(-middle).bits, even | 0x8000);
  }
  for (const float big : {INFINITY, std::numeric_limits<float>::max()}) {
    EXPECT_EQ(narrow(big).bits, infinity);
    EXPECT_EQ(narrow(-big).bits, infinity | 0x8000);
  }
}

TEST(Half, EveryPatternHasItsValue) {
  check_all<Bf16>(kBf16, to_bf16);
  check_all<F16>(kF16, to_f16);
}

TEST(Half, RoundsToTheNearestOfTwoToTheEven) {
  check_rounding<Bf16>(kBf16, to_bf16);
  check_rounding<F16>(kF16, to_f16);
}

TEST(Half, NanStaysNanWhateverItsBits) {
  for (const std::uint32_t bits : {0x7f800001u, 0x7f801000u, 0x7fffffffu, 0xff800001u}) {
    const auto nan = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(to_float(to_bf16(nan))));
    EXPECT_TRUE(std::isnan(to_float(to_f16(nan))));
  }
}

TEST(Half, TensorsAreCastPrintedAndStored) {
  const Tensor wide = Tensor::from<float>({5}, {1, -2.5f, 1e-5f, 3e5f, NAN});
  for (const DType dtype : {bf16, f16}) {
    const Tensor narrow = wide.cast(dtype);
    EXPECT_EQ(narrow.size_bytes(), 10u);
    const Tensor back = narrow.cast(f32);
    EXPECT_EQ(back.data<float>()[0], 1);
    EXPECT_EQ(back.data<float>()[1], -2.5f);
    EXPECT_NEAR(back.data<float>()[2], 1e-5f, 1e-7);
    EXPECT_EQ(std::isinf(back.data<float>()[3]), dtype == f16);
    EXPECT_TRUE(std::isnan(back.data<float>()[4]));
    EXPECT_EQ(narrow.cast(f64).data<double>()[1], -2.5);
    EXPECT_EQ(narrow.cast(i32).data<std::int32_t>()[1], -2);
    EXPECT_NE(narrow.str().find("-2.5"), std::string::npos);
    EXPECT_THROW(narrow.data<float>(), Error);

    const std::string bytes = safetensors_bytes({.tensors = {{"w", narrow}}});
    EXPECT_NE(bytes.find(dtype == bf16 ? "\"BF16\"" : "\"F16\""), std::string::npos);
    EXPECT_TRUE(equal(parse_safetensors(bytes, "w").tensors.at("w"), narrow));
  }
  const Tensor count = Tensor::from<std::int64_t>({1}, {2049});
  EXPECT_EQ(count.cast(f16).cast(i64).item<std::int64_t>(), 2048);
}

}  // namespace
}  // namespace trireme
