#include "trireme/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "trireme/dtype.h"
#include "trireme/error.h"

namespace trireme {
namespace {

const Dim kWidth{std::string_view("width")};

TEST(Dim, PrintsCanonically) {
  EXPECT_EQ(Dim().str(), "0");
  EXPECT_EQ(Dim(7).str(), "7");
  EXPECT_EQ(Dim(-7).str(), "-7");
  EXPECT_EQ(batch.str(), "batch");
  EXPECT_EQ((1 + batch + batch).str(), "2*batch + 1");
  EXPECT_EQ((kWidth * batch - 3).str(), "batch*width - 3");
  EXPECT_EQ((0 - batch).str(), "-batch");
  EXPECT_EQ((batch - batch).str(), "0");
  EXPECT_EQ((5 - batch * batch * 2).str(), "-2*batch*batch + 5");
}

TEST(Dim, IsEqualExactlyWhenThePolynomialsAre) {
  EXPECT_EQ((batch + 1) * (batch - 1), batch * batch - 1);
  EXPECT_EQ(batch * kWidth, kWidth * batch);
  EXPECT_NE(batch, kWidth);
  EXPECT_NE(batch, Dim(1));
  EXPECT_EQ(Dim(3) * 0, Dim(0));
}

TEST(Dim, TellsWhatItIsMadeOf) {
  EXPECT_EQ(batch.symbol(), "batch");
  EXPECT_FALSE((2 * batch).symbol());
  EXPECT_FALSE(Dim(1).symbol());
  EXPECT_THAT((kWidth * batch + batch).symbols(), testing::ElementsAre("batch", "width"));
  EXPECT_TRUE(Dim(0).is_constant());
  EXPECT_EQ(Dim(0).constant(), 0);
  EXPECT_FALSE(batch.is_constant());
  EXPECT_THROW(batch.constant(), Error);
}

TEST(Dim, RefusesWhatIsNoName) {
  for (const char* name : {"", "2x", "_x", "a b", "a*b", "a-b", "ü"}) {
    EXPECT_THROW(Dim{std::string_view(name)}, Error) << name;
  }
}

TEST(Dim, EvaluateNeedsEverySymbol) {
  EXPECT_EQ((2 * batch + 1).evaluate({{"batch", 64}, {"other", 1}}), 129);
  try {
    (batch * kWidth).evaluate({{"batch", 1}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), testing::HasSubstr("'width'"));
  }
}

TEST(Dim, OverflowIsAnErrorNeverAWrongNumber) {
  const Dim big = std::int64_t{1} << 61;
  EXPECT_THROW(big * 4, Error);
  EXPECT_THROW(big + big + big, Error);
  EXPECT_THROW(Dim(INT64_MIN), Error);
  EXPECT_THROW((batch * batch).evaluate({{"batch", std::int64_t{1} << 32}}), Error);
  Dim power = batch;
  EXPECT_THROW(for (int i = 0; i < 40; ++i) power = power * batch, Error);
}

// The oracle: integer arithmetic under random sizes.
class RandomDims : public testing::Test {
 protected:
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  Dim dim(int depth) {
    if (depth == 0 || number(0, 3) == 0) {
      static const char* kNames[] = {"a", "b", "batch"};
      return number(0, 1) ? Dim(number(-3, 9)) : Dim(std::string_view(kNames[number(0, 2)]));
    }
    const Dim x = dim(depth - 1), y = dim(depth - 1);
    switch (number(0, 2)) {
      case 0: return x + y;
      case 1: return x - y;
      default: return x * y;
    }
  }
  SymbolSizes sizes() {
    return {{"a", number(0, 50)}, {"b", number(0, 50)}, {"batch", number(0, 50)}};
  }
  std::mt19937 random_{7};
};

TEST_F(RandomDims, ArithmeticAgreesWithNumbers) {
  for (int i = 0; i < 2000; ++i) {
    const Dim x = dim(2), y = dim(2);
    const SymbolSizes at = sizes();
    const std::int64_t p = x.evaluate(at), q = y.evaluate(at);
    EXPECT_EQ((x + y).evaluate(at), p + q);
    EXPECT_EQ((x - y).evaluate(at), p - q);
    EXPECT_EQ((x * y).evaluate(at), p * q);
  }
}

TEST_F(RandomDims, TextReadsBack) {
  for (int i = 0; i < 2000; ++i) {
    const Dim x = dim(3);
    const std::optional<Dim> read = Dim::parse(x.str());
    ASSERT_TRUE(read) << x.str();
    EXPECT_EQ(*read, x) << x.str();
  }
}

TEST_F(RandomDims, DivisionUndoesMultiplication) {
  for (int i = 0; i < 2000; ++i) {
    const Dim x = dim(2), y = dim(2);
    if (y == Dim(0)) continue;
    const std::optional<Dim> quotient = (x * y).divided_by(y);
    ASSERT_TRUE(quotient) << x.str() << " times " << y.str();
    EXPECT_EQ(*quotient, x);
    const std::optional<Dim> other = x.divided_by(y);
    EXPECT_TRUE(!other || *other * y == x);
  }
}

TEST(Dim, DividesOnlyExactly) {
  EXPECT_EQ(*(batch * 6).divided_by(3), 2 * batch);
  EXPECT_FALSE(batch.divided_by(2));
  EXPECT_FALSE((batch + 1).divided_by(batch));
  EXPECT_FALSE(batch.divided_by(0));
  EXPECT_FALSE(Dim(7).divided_by(batch));
  EXPECT_EQ(*Dim(0).divided_by(batch), Dim(0));
}

TEST(Dim, ParseRefusesWhatIsNoSum) {
  for (const char* text : {"", " ", "+", "a+", "2a", "a b", "a*", "*a", "1.5", "a//b", "--1", "(a)",
                           "99999999999999999999", "9223372036854775807*9", "_"}) {
    EXPECT_FALSE(Dim::parse(text)) << text;
  }
  EXPECT_EQ(*Dim::parse(" 3 * a*2 -a "), 5 * Dim{std::string_view("a")});
  std::string many = "a0";
  for (int i = 1; i < 100; ++i) many += "+a" + std::to_string(i);
  EXPECT_FALSE(Dim::parse(many));
}

TEST(Shape, PrintsMultipliesAndEvaluates) {
  const Shape shape = {batch, 1, 28, 28};
  EXPECT_EQ(str(shape), "[batch, 1, 28, 28]");
  EXPECT_EQ(str(Shape{}), "[]");
  EXPECT_EQ(product(shape), 784 * batch);
  EXPECT_EQ(product({}), Dim(1));
  EXPECT_THAT(evaluate(shape, {{"batch", 5}}), testing::ElementsAre(5, 1, 28, 28));
  EXPECT_FALSE(is_constant(shape));
  EXPECT_TRUE(is_constant(Shape{2, 3}));
}

TEST(DType, NamesAndSizesReadBack) {
  for (const DType dtype : {boolean, u8, i32, i64, f32, f64, bf16, f16}) {
    DType read = f32;
    ASSERT_TRUE(parse_dtype(name_of(dtype), &read));
    EXPECT_EQ(read, dtype);
  }
  DType unused;
  EXPECT_FALSE(parse_dtype("f8", &unused));
  EXPECT_EQ(size_of(dtype_of<float>), sizeof(float));
  EXPECT_EQ(size_of(dtype_of<std::int64_t>), 8u);
  EXPECT_EQ(dtype_of<bool>, boolean);
  EXPECT_EQ(dtype_of<std::uint8_t>, u8);
  EXPECT_EQ(dtype_of<double>, f64);
  EXPECT_EQ(dtype_of<std::int32_t>, i32);
}

template <class T>
concept HasDType = requires { detail::DTypeOf<T>::value; };

TEST(DType, TypesWithoutADTypeDoNotCompile) {
  static_assert(HasDType<float> && HasDType<bool> && HasDType<std::int64_t>);
  static_assert(HasDType<std::int8_t> && HasDType<std::uint16_t> && HasDType<std::uint64_t>);
  static_assert(!HasDType<char> && !HasDType<char16_t> && !HasDType<long double>);
}

TEST(DType, KindsAndRangesFollowTheTable) {
  EXPECT_TRUE(is_float(bf16) && is_float(f16) && is_float(f32) && is_float(f64));
  EXPECT_TRUE(is_half(bf16) && is_half(f16) && !is_half(f32) && !is_half(i32));
  EXPECT_TRUE(is_arithmetic_float(f32) && is_arithmetic_float(f64) && !is_arithmetic_float(f16));
  EXPECT_TRUE(is_integer(u8) && is_integer(i32) && is_integer(i64) && !is_integer(boolean));
  EXPECT_TRUE(is_unsigned(u64) && is_unsigned(boolean) && !is_unsigned(i8) && !is_unsigned(f32));
  EXPECT_EQ(info_of(u8).highest_integer, 255);
  for (const DTypeInfo& info : kDTypes) {
    if (info.kind != DTypeInfo::Kind::integer) continue;
    const double values = std::ldexp(1.0, 8 * static_cast<int>(info.size));
    EXPECT_EQ(info.lowest_integer, is_unsigned(info.dtype) ? 0 : -values / 2) << info.name;
    // Of 64 bits, the largest double that is not above it.
    const double end = is_unsigned(info.dtype) ? values : values / 2;
    EXPECT_EQ(info.highest_integer, info.size < 8 ? end - 1 : std::nextafter(end, 0)) << info.name;
  }
  EXPECT_EQ(info_of(i32).lowest_integer, std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(info_of(f32).highest_integer, 1 << std::numeric_limits<float>::digits);
  EXPECT_EQ(info_of(f64).highest_integer, 0x1p53);
}

}  // namespace
}  // namespace trireme
