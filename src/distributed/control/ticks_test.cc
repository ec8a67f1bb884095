#include "distributed/control/ticks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/error.h"
#include "distributed/control/orders.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

TEST(Ticks, AreEpochsOrTasks) {
  EXPECT_EQ(ticks_of({}, 0, 0, 0), 0) << "nothing has begun";
  EXPECT_EQ(ticks_of({}, 1, 10, 10), 0);
  EXPECT_EQ(ticks_of({}, 3, 10, 0), 2);
  const Ageing by_tasks{.tick_tasks = 4};
  EXPECT_EQ(ticks_of(by_tasks, 0, 0, 0), 0);
  EXPECT_EQ(ticks_of(by_tasks, 1, 10, 3), 0);
  EXPECT_EQ(ticks_of(by_tasks, 1, 10, 10), 2);
  EXPECT_EQ(ticks_of(by_tasks, 2, 10, 0), 2) << "the end of an epoch is the beginning of the next";
  EXPECT_EQ(ticks_of(by_tasks, 2, 10, 2), 3);
}

TEST(Ticks, OrdersComeBackFromTheirText) {
  const TickOrder order{
      .ticks = 70000,
      .eviction = {.show_weight = 0.5, .click_weight = 2, .below = 0.25, .unused_for = 9}};
  const TickOrder again = tick_order_of(text_of(order));
  EXPECT_EQ(again.ticks, 70000);
  EXPECT_EQ(again.eviction.show_weight, 0.5);
  EXPECT_EQ(again.eviction.click_weight, 2);
  EXPECT_EQ(again.eviction.below, 0.25);
  EXPECT_EQ(again.eviction.unused_for, 9);
  EXPECT_EQ(clock_after(70000), 70000 - 65536);
  EXPECT_EQ(tick_report_of(text_of(TickReport{12})).evicted, 12u);
  for (const char* text : {"", "{}", "[1]", "{\"ticks\": \"many\"}"}) {
    EXPECT_THAT(error_of(ErrorKind::data, [&] { tick_order_of(text); }),
                HasSubstr("order of a tick"));
    EXPECT_THAT(error_of(ErrorKind::data, [&] { tick_report_of(text); }),
                HasSubstr("report of a tick"));
  }
}

}  // namespace
}  // namespace trireme::distributed
