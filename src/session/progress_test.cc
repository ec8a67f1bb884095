#include "session/progress.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(Progress, BarsGrowByEighths) {
  EXPECT_EQ(progress_bar(0, 4), "    ");
  EXPECT_EQ(progress_bar(1, 4), "████");
  EXPECT_EQ(progress_bar(0.5 + 1.0 / 32, 4), "██▏ ");
  EXPECT_EQ(progress_bar(7, 2), "██");
}

TEST(Progress, DurationsAndThousands) {
  EXPECT_EQ(duration_text(3.2), "0:03");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(3723), "1:02:03");
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(9840), "9,840");
  EXPECT_EQ(with_thousands(-421642), "-421,642");
  EXPECT_EQ(with_thousands(-123), "-123");
}

}  // namespace
}  // namespace trireme
