#include "base/number_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include <cstdint>
#include <limits>

namespace trireme {
namespace {

TEST(NumberText, WithThousands) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(9840), "9,840");
  EXPECT_EQ(with_thousands(-123), "-123");
  EXPECT_EQ(with_thousands(-421642), "-421,642");
  EXPECT_EQ(with_thousands(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(NumberText, FloatsNeverLookLikeIntegers) {
  EXPECT_EQ(float_text(1.0), "1.0");
  EXPECT_EQ(float_text(-0.0), "-0.0");
  EXPECT_EQ(float_text(0.1f), "0.1");
  EXPECT_EQ(float_text(1e-20), "1e-20");
  EXPECT_EQ(float_text(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(float_text(std::numeric_limits<float>::quiet_NaN()), "nan");
  for (const double value :
       {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(), 1.0 / 3.0}) {
    EXPECT_EQ(parse_float(float_text(value)), value);
  }
}

TEST(NumberText, ParsesWholeTextsOnly) {
  EXPECT_EQ(parse_integer("+7"), 7);
  EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"", "+", "+-1", "++1", "1 ", " 1", "1x", "9223372036854775808", "1.0"}) {
    EXPECT_EQ(parse_integer(text), std::nullopt) << text;
  }
  for (const char* text : {"", "+", "1e", "1e999", "-1e999", "1e99999", "0x1", "1,0"}) {
    EXPECT_EQ(parse_float(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_float("1e-400"), 0);
  EXPECT_TRUE(std::signbit(*parse_float("-1e-400")));
  EXPECT_EQ(parse_float("1e-400x"), std::nullopt);
}

}  // namespace
}  // namespace trireme
