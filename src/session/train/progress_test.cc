#include "session/train/progress.h"

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
}

}  // namespace
}  // namespace trireme
