#include "distributed/placement/address.h"

#include <gmock/gmock.h>

#include "base/testing/error.h"

namespace trireme::distributed {
namespace {

using ::testing::HasSubstr;

TEST(Address, Parts) {
  EXPECT_EQ(joined_address("n1", 80), "n1:80");
  EXPECT_EQ(joined_address("::1", 80), "[::1]:80");
  EXPECT_EQ(joined_address("[::1]", 80), "[::1]:80");
  EXPECT_EQ(host_of("10.0.0.1:80"), "10.0.0.1");
  EXPECT_EQ(host_of("[::1]:80"), "[::1]");
  EXPECT_EQ(port_of("[::1]:80"), 80);
  for (const char* wrong : {"", ":", "n1", "n1:", ":80", "n1:0", "n1:65536", "n1:8o", "a b:1",
                            "::1:80", "a/b:1", "n1:80 "}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { check_address(wrong, "here"); }),
                HasSubstr("here: HOST:PORT is expected"))
        << wrong;
  }
}

TEST(Address, OfThisMachine) {
  OwnAddress own = own_address("", "");
  EXPECT_EQ(own.host, "127.0.0.1");
  EXPECT_TRUE(own.loopback);
  EXPECT_EQ(own_address("lo", "").host, "127.0.0.1");
  EXPECT_TRUE(own_address("", "127.0.0.5").loopback);
  EXPECT_EQ(own_address("", "127.0.0.5").host, "127.0.0.5");
  EXPECT_THAT(error_of(ErrorKind::usage, [] { own_address("eth77", ""); }),
              HasSubstr("--interface eth77: this machine has lo (127.0.0.1)"));
  for (const char* wrong : {"0.0.0.0", "192.0.2.77", "localhost", "n1", "::"}) {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { own_address("", wrong); }),
                HasSubstr("this machine has no such IP address"))
        << wrong;
  }
  EXPECT_THAT(error_of(ErrorKind::usage, [] { own_address("lo", "127.0.0.1"); }),
              HasSubstr("two ways to say one thing"));
}

}  // namespace
}  // namespace trireme::distributed
