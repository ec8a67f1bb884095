#include "base/checksum.h"

#include <gtest/gtest.h>

namespace trireme {
namespace {

// Known answers: RFC 3720, appendix B.4, and the catalogue's check value for "123456789".
TEST(Checksum, Crc32cOfKnownTexts) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

// XXH128 of nothing with seed 0, from the xxHash specification's sanity checks.
TEST(Checksum, Xxh128OfNothing) {
  EXPECT_EQ(checksum(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(checksum("a"), checksum("b"));
}

}  // namespace
}  // namespace trireme
