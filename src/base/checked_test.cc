#include "base/checked.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace trireme {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(Checked, ComputesWhatFits) {
  EXPECT_EQ((Checked(7) * 6 - 2 + 1).value(), 41);
  EXPECT_EQ((Checked(kMax) + 0).value(), kMax);
  EXPECT_EQ((Checked(kMax) - kMax).value(), 0);
  EXPECT_EQ((Checked(kMin) + kMax).value(), -1);
  EXPECT_EQ((Checked(kMin) * 1).value(), kMin);
  EXPECT_EQ((Checked(0) * kMin).value(), 0);
}

TEST(Checked, IsInvalidBeyond64Bits) {
  EXPECT_FALSE((Checked(kMax) + 1).valid());
  EXPECT_FALSE((Checked(kMin) - 1).valid());
  EXPECT_FALSE((Checked(kMin) * -1).valid());
  EXPECT_FALSE((Checked(kMax / 2 + 1) * 2).valid());
  EXPECT_FALSE((Checked(0) - kMin).valid());
}

TEST(Checked, StaysInvalid) {
  const Checked beyond = Checked(kMax) + 1;
  EXPECT_FALSE((beyond - 1).valid());
  EXPECT_FALSE((beyond * 0).valid());
  EXPECT_FALSE((Checked(3) - beyond).valid());
}

TEST(Checked, NumbersThatNoIntegerHas) {
  EXPECT_EQ(to_integer(-2.9), -2);
  EXPECT_EQ(to_integer(-9223372036854775808.0), kMin);
  for (const double wrong : {9223372036854775808.0, -1e300, std::nan(""), HUGE_VAL}) {
    EXPECT_FALSE(to_integer(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace trireme
