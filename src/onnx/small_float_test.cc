#include "onnx/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trireme::onnx {
namespace {

using enum ElementType;

TEST(SmallFloat, CodesAreTheNumbersOfTheirTables) {
  EXPECT_EQ(small_float(f8e4m3fn, 0x01), 0x1p-9F);  // the smallest
  EXPECT_EQ(small_float(f8e4m3fn, 0x7e), 448);
  EXPECT_TRUE(std::isnan(small_float(f8e4m3fn, 0x7f)));
  EXPECT_TRUE(std::signbit(small_float(f8e4m3fn, 0x80)));
  EXPECT_EQ(small_float(f8e5m2, 0x7b), 57344);
  EXPECT_EQ(small_float(f8e5m2, 0xfc), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(small_float(f8e5m2, 0x7d)));
  EXPECT_EQ(small_float(f8e4m3fnuz, 0x7f), 240);
  EXPECT_TRUE(std::isnan(small_float(f8e4m3fnuz, 0x80)));  // there is no negative zero
  EXPECT_EQ(small_float(f8e5m2fnuz, 0xff), -57344);
  EXPECT_EQ(small_float(f4e2m1, 0x7), 6);
  EXPECT_EQ(small_float(f4e2m1, 0x9), -0.5F);
  EXPECT_EQ(small_float(f8e8m0, 0), 0x1p-127F);
  EXPECT_EQ(small_float(f8e8m0, 127), 1);
  EXPECT_TRUE(std::isnan(small_float(f8e8m0, 255)));
}

TEST(SmallFloat, PositiveCodesAscend) {
  for (const ElementType type : {f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz}) {
    for (unsigned code = 1; code < 0x80; ++code) {
      const float here = small_float(type, code);
      EXPECT_TRUE(std::isnan(here) || here > small_float(type, code - 1)) << code;
    }
  }
}

TEST(SmallFloat, TooLargeNumbersBecomeWhatTheTypeHas) {
  EXPECT_EQ(beyond_largest(f8e4m3fn, true), 448);
  EXPECT_TRUE(std::isnan(beyond_largest(f8e4m3fn, false)));
  EXPECT_EQ(beyond_largest(f8e5m2, false), std::numeric_limits<float>::infinity());
  EXPECT_EQ(beyond_largest(f4e2m1, false), 6);
}

}  // namespace
}  // namespace trireme::onnx
