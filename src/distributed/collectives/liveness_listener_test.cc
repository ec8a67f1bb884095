#include "distributed/collectives/liveness_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme::distributed {
namespace {

using ::testing::StartsWith;

TEST(LivenessListener, TellsWhoIsGone) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    std::string of_the_dead;
    {
      LivenessListener sign("", address);
      if (sign.address() == "-") continue;  // a machine without IPv6
      EXPECT_THAT(sign.address(), StartsWith(std::string(address) + ":"));
      for (int i = 0; i < 300; ++i) {
        EXPECT_FALSE(is_gone(sign.address()));
        if (i % 100 == 0) sign.answer();
      }
      of_the_dead = sign.address();
    }
    EXPECT_TRUE(is_gone(of_the_dead));
  }
  LivenessListener loopback("lo", "");
  EXPECT_THAT(loopback.address(), StartsWith("127.0.0.1:"));
}

TEST(LivenessListener, WhatIsNotKnownIsNotGone) {
  EXPECT_EQ(LivenessListener("nosuch0", "").address(), "-");
  EXPECT_EQ(LivenessListener("", "203.0.113.7").address(), "-");
  EXPECT_EQ(LivenessListener("", "nonsense").address(), "-");
  for (const char* address : {"", "-", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:x",
                              "127.0.0.1:99999", "nonsense:1", "127.0.0.1:1 "}) {
    EXPECT_FALSE(is_gone(address)) << address;
  }
}

}  // namespace
}  // namespace trireme::distributed
