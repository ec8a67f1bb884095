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

// Of any length and address, whole and in two parts, against the polynomial bit by bit.
TEST(Checksum, Crc32cOfParts) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(i * 37);
  for (std::size_t begin = 0; begin < 9; ++begin) {
    std::uint32_t slow = ~0u;
    for (std::size_t size = 0; begin + size < text.size(); ++size) {
      const std::string_view whole = std::string_view(text).substr(begin, size);
      ASSERT_EQ(crc32c(whole), ~slow) << begin << " " << size;
      ASSERT_EQ(crc32c(whole.substr(size / 3), crc32c(whole.substr(0, size / 3))), ~slow);
      slow ^= static_cast<unsigned char>(text[begin + size]);
      for (int bit = 0; bit < 8; ++bit) slow = (slow >> 1) ^ ((slow & 1) != 0 ? 0x82f63b78u : 0u);
    }
  }
}

// XXH128 of nothing with seed 0, from the xxHash specification's sanity checks.
TEST(Checksum, Xxh128OfNothing) {
  EXPECT_EQ(checksum(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(checksum("a"), checksum("b"));
}

}  // namespace
}  // namespace trireme
